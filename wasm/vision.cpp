// Reads pictures. vision.d.ts describes everything that is bound here.
#include <emscripten/bind.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/ascii.h"
#include "base/format.h"
#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "session/language_model.h"
#include "vision/image_reader.h"
#include "vision/vision_model.h"
#include "wasm/values.h"
#include "wasm/weight_loader.h"

namespace kinglet {
namespace {

class PictureReader {
 public:
  static Result<std::shared_ptr<PictureReader>> create(GgufFile file, PreparedVision prepared) {
    KINGLET_ASSIGN(VisionModel model, VisionModel::load(std::move(file), std::move(prepared)));
    auto reader = std::make_shared<PictureReader>(std::move(model));
    KINGLET_ASSIGN(ImageReader images, ImageReader::create(reader->model_, thread_pool()));
    reader->images_.emplace(std::move(images));
    return reader;
  }

  explicit PictureReader(VisionModel model) : model_(std::move(model)) {}

  val info() const {
    val fields = val::object();
    const auto name = model_.header().get_string("general.name", "");
    set(fields, "name", name.ok() ? name.value() : "");
    set(fields, "projector", model_.config().projector->name);
    set(fields, "width", model_.width());
    set(fields, "weightBytes", to_number(model_.weight_bytes()));
    set(fields, "kernels", model_.kernels().name);
    return fields;
  }

  val check_fits(double hidden_dim) const {
    return to_js(kinglet::check_fits(model_, from_number<uint32_t>(hidden_dim)));
  }

  val scratch_bytes(double width, double height) const {
    const auto n_patches = largest_tile(model_.config(), size_of(width, height));
    if (!n_patches.ok()) return failure(n_patches.error());
    return success(val(to_number(images_->bytes_for(n_patches.value()))));
  }

  val reserve(double width, double height) {
    size_ = size_of(width, height);
    pixels_ = AlignedBuffer();
    const Status checked = check_size({size_.width, size_.height, {}});
    if (!checked.ok()) return failure(checked.error());
    auto room =
        AlignedBuffer::allocate(uint64_t{size_.width} * size_.height * kChannels, "a picture");
    if (!room.ok()) return failure(room.error());
    pixels_ = std::move(room.value());
    return success(val(to_number(reinterpret_cast<uintptr_t>(pixels_.data()))));
  }

  val begin(double id) {
    const AlignedBuffer pixels = std::move(pixels_);
    const auto* bytes = reinterpret_cast<const uint8_t*>(pixels.data());
    const PictureView picture{size_.width, size_.height, {bytes, pixels.size()}};
    return steps_left(images_->begin(picture, to_cancellation(id)));
  }

  val advance() { return steps_left(images_->advance()); }

  val parts() const {
    val list = val::array();
    for (const ImagePart& part : images_->parts()) {
      val fields = val::object();
      set(fields, "text", part.text);
      set(fields, "nRows", part.image.n_rows);
      set(fields, "width", part.image.width);
      set(fields, "gridWidth", part.image.grid_width);
      set(fields, "gridHeight", part.image.grid_height);
      set(fields, "seesAll", part.image.sees_all);
      // JavaScript's numbers cannot represent all 64-bit integers.
      set(fields, "checksum", hexadecimal(part.image.checksum));
      list.call<void>("push", fields);
    }
    return list;
  }

  val rows(double part) const {
    const auto parts = images_->parts();
    const auto i = from_number<size_t>(part);
    if (i >= parts.size()) {
      return failure({ErrorCode::invalid_argument, cat("part ", i, " of ", parts.size())});
    }
    const std::vector<float>& rows = parts[i].image.rows;
    return success(val(emscripten::typed_memory_view(rows.size(), rows.data())));
  }

 private:
  static Size size_of(double width, double height) {
    return {from_number<uint32_t>(width), from_number<uint32_t>(height)};
  }

  [[gnu::noinline]] val steps_left(const Status& status) const {
    return status.ok() ? success(val(to_number(images_->n_left()))) : failure(status.error());
  }

  VisionModel model_;
  std::optional<ImageReader> images_;
  Size size_;
  AlignedBuffer pixels_;  // for the next picture
};

class LoadableReader final : public Loadable {
 public:
  explicit LoadableReader(const KernelSet& kernels) : kernels_(kernels) {}

  Preparable& begin() override { return prepared_.emplace(kernels_); }

  val finish(GgufFile file) override {
    const auto reader = PictureReader::create(std::move(file), std::move(*prepared_));
    return reader.ok() ? success(val(reader.value())) : failure(reader.error());
  }

 private:
  const KernelSet& kernels_;
  std::optional<PreparedVision> prepared_;
};

val new_reader_loader(double file_bytes, const std::string& name) {
  const auto chosen = choose_kernels(name);
  if (!chosen.ok()) return failure(chosen.error());
  return success(val(std::make_shared<WeightLoader>(
      file_bytes, std::make_unique<LoadableReader>(*chosen.value()))));
}

}  // namespace

EMSCRIPTEN_BINDINGS(kinglet_vision) {
  using namespace emscripten;

  class_<PictureReader>("PictureReader")
      .smart_ptr<std::shared_ptr<PictureReader>>("PictureReader")
      .function("info", &PictureReader::info)
      .function("checkFits", &PictureReader::check_fits)
      .function("scratchBytes", &PictureReader::scratch_bytes)
      .function("reserve", &PictureReader::reserve)
      .function("begin", &PictureReader::begin)
      .function("advance", &PictureReader::advance)
      .function("parts", &PictureReader::parts)
      .function("rows", &PictureReader::rows);

  function("newVisionLoader", &new_reader_loader);
}

}  // namespace kinglet
