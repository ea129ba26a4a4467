#include "wasm/weight_loader.h"

#include <emscripten/bind.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace kinglet {

WeightLoader::Part::Part(double file_bytes, Preparable& model,
                         std::unique_ptr<const RandomAccessFile> storage, StoredChoice choice)
    : loader(announced(file_bytes), std::move(storage), choice),
      preparation(model, thread_pool()) {}

double WeightLoader::skip(double max_bytes) {
  return to_number(part_->loader.skip(from_number<uint64_t>(max_bytes)));
}

val WeightLoader::reserve(double max_bytes) {
  return to_js(part_->loader.reserve(from_number<size_t>(max_bytes)));
}

val WeightLoader::commit(double bytes) {
  const Status status = part_->loader.commit(from_number<size_t>(bytes));
  if (status.ok()) part_->preparation.advance(part_->loader);
  return to_js(status);
}

double WeightLoader::file_bytes() const {
  return to_number(part_->loader.file_bytes().value_or(0));
}

val WeightLoader::next_part(double file_bytes) {
  const Status status = end_part();
  if (status.ok()) part_.emplace(file_bytes, loadable_->begin(), nullptr, StoredChoice{});
  return to_js(status);
}

val WeightLoader::finish() {
  const Status status = end_part();
  if (!status.ok()) return failure(status.error());
  if (parts_.size() > 1) loadable_->begin();  // only the last part was prepared
  auto file = GgufFile::join(std::move(parts_));
  return file.ok() ? loadable_->finish(std::move(file.value())) : failure(file.error());
}

Status WeightLoader::end_part() {
  part_->preparation.finish(part_->loader);
  KINGLET_ASSIGN(GgufFile part, part_->loader.finish());
  parts_.push_back(std::move(part));
  return {};
}

EMSCRIPTEN_BINDINGS(kinglet_loader) {
  emscripten::class_<WeightLoader>("WeightLoader")
      .smart_ptr<std::shared_ptr<WeightLoader>>("WeightLoader")
      .function("skip", &WeightLoader::skip)
      .function("reserve", &WeightLoader::reserve)
      .function("commit", &WeightLoader::commit)
      .function("fileBytes", &WeightLoader::file_bytes)
      .function("nextPart", &WeightLoader::next_part)
      .function("finish", &WeightLoader::finish);
}

}  // namespace kinglet
