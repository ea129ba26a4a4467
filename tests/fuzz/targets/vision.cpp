// Vision models with some changed bytes, and pictures of any size: they are read, or refused with a
// message.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "model/tiny_model.h"
#include "support.h"
#include "vision/image_reader.h"

namespace kinglet::fuzz {
namespace {

// One for each projector.
constexpr const char* kVisionModels[] = {"idefics3", "idefics3-old",     "gemma3-Q4_0",
                                         "gemma4v",  "lfm2-unnormed",    "qwen2vl-old",
                                         "qwen25vl", "qwen3vl-deepstack"};
constexpr uint32_t kSizes[] = {0, 1, 2, 3, 4, 8, 16, 64, 100, 512, 4096, 0x7fffffff, 0xffffffff};
constexpr int kMaxVisionChanges = 8;
// A picture may be large, but computing it must not take long.
constexpr size_t kMaxPixels = 1 << 16;
constexpr size_t kMaxSteps = 6;
constexpr size_t kMostPatches = 1 << 10;

void change_vision(Input& input, ::kinglet::Bytes& file, size_t n_header) {
  const size_t at = input.number<uint32_t>() % n_header;
  uint32_t value = input.number<uint8_t>();
  size_t n = 1;
  if (input.flag()) {
    value = kSizes[input.up_to(std::size(kSizes) - 1)];
    n = sizeof value;
  }
  std::memcpy(file.data() + at, &value, std::min(n, n_header - at));
}

// One side may have any length; the other is limited by the remaining pixels.
Size size_of(Input& input) {
  const uint32_t width = input.up_to(UINT16_MAX);
  const auto most = static_cast<uint32_t>(kMaxPixels / std::max(width, 1u));
  const uint32_t height = input.up_to(std::min<uint32_t>(most, UINT16_MAX));
  return input.flag() ? Size{height, width} : Size{width, height};
}

void check_parts(std::span<const ImagePart> parts, uint32_t width) {
  for (const ImagePart& part : parts) {
    const ImageRows& image = part.image;
    check(part.is_text() != part.text.empty(), "a part that is neither text nor rows");
    check(part.is_text() || image.width == width, "rows of another width");
    check(image.rows.size() == size_t{image.n_rows} * image.width, "rows of another number");
  }
}

void read_picture(const VisionModel& model, Input& input) {
  const Size size = size_of(input);
  std::vector<uint8_t> pixels(size_t{size.width} * size.height * kChannels);
  for (uint8_t& pixel : pixels) pixel = input.number<uint8_t>();
  ThreadPool pool(1);
  auto reader = ImageReader::create(model, pool, 1 + input.up_to(63));
  check(reader.ok(), "no reader of a batch");
  const auto n_patches = largest_tile(model.config(), size);
  if (!reader.value().begin({size.width, size.height, pixels}).ok()) return;
  check(n_patches.ok(), "a size that is refused, of a picture that is not");
  check_parts(reader.value().parts(), model.width());
  if (n_patches.value() > kMostPatches) return;
  for (size_t i = 0; i < kMaxSteps && reader.value().n_left() > 0; ++i) {
    if (!reader.value().advance().ok()) return;
  }
}

}  // namespace

void vision(Bytes bytes) {
  Input input(bytes);
  ::kinglet::Bytes file = read_fixture(
      std::string("vision/") + kVisionModels[input.up_to(std::size(kVisionModels) - 1)] + ".gguf");
  const auto header = parse_gguf_header(file);
  check(header.ok(), "no header of a fixture");
  const auto n_header = static_cast<size_t>(header.value().data_offset);
  const uint32_t n_changes = input.up_to(kMaxVisionChanges);
  for (uint32_t i = 0; i < n_changes; ++i) change_vision(input, file, n_header);
  auto loaded = load_gguf(file);
  if (!loaded.ok()) return;
  const auto model = VisionModel::load(std::move(loaded.value()), scalar_kernels());
  if (model.ok()) read_picture(model.value(), input);
}

}  // namespace kinglet::fuzz
