// Records of a search index with some changed bytes and a corrected checksum: they are read, and
// written again as they were, or refused.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "fuzz/input.h"
#include "search/document.h"

namespace kinglet::fuzz {
namespace {

constexpr size_t kDimensions = 40;  // no multiple of a block
constexpr size_t kPassages = 3;
constexpr int kMostChanges = 8;
// Where a record has its checksum, and where what it covers begins.
constexpr size_t kChecksum = 8;
constexpr size_t kChecked = 16;

std::vector<std::byte> some_record() {
  auto vectors = PassageVectors::create(kPassages, kDimensions);
  SearchDocument document{.id = "an id",
                          .info = "{}",
                          .text = "One. Zwei für drei.",
                          .passages = {{0, 4}, {5, 13}, {5, 20}},
                          .vectors = std::move(vectors.value())};
  std::vector<float> vector(kDimensions, 0.1f);
  vector[7] = -0.7f;
  document.vectors.set(0, vector);
  document.vectors.set(2, vector);
  const auto record = write_record(document, 1);
  return {record.value().bytes().begin(), record.value().bytes().end()};
}

}  // namespace

void record(Bytes bytes) {
  static const std::vector<std::byte> original = some_record();
  Input input(bytes);
  std::vector<std::byte> changed = original;
  for (int i = 0; i < kMostChanges && !input.empty(); ++i) {
    const size_t at = input.number<uint16_t>() % changed.size();
    if (input.flag()) {
      changed.resize(at + 1);
    } else {
      const auto word = input.number<uint32_t>();
      std::memcpy(&changed[at], &word, std::min(sizeof word, changed.size() - at));
    }
  }
  if (changed.size() >= kChecked) {
    const uint64_t checksum = hash_bytes(std::span<const std::byte>(changed).subspan(kChecked));
    std::memcpy(&changed[kChecksum], &checksum, sizeof checksum);
  }
  const auto read = read_record(changed);
  if (!read.ok()) {
    check(!read.error().message.empty(), "an error without words");
    return;
  }
  const auto again = write_record(read.value().document, read.value().settings);
  check(again.ok(), "a record that was read cannot be written");
  check(std::equal(changed.begin(), changed.end(), again.value().bytes().begin(),
                   again.value().bytes().end()),
        "a record is written otherwise than it was read");
}

}  // namespace kinglet::fuzz
