// Vision models that are refused, and the error messages.
#include "vision/vision_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/bit_cast.h"
#include "model/arriving_file.h"
#include "model/damage.h"

namespace kinglet {
namespace {

constexpr const char* kFixture = "vision/idefics3.gguf";

Result<VisionModel> load_reader(const Bytes& bytes) {
  KINGLET_ASSIGN(GgufFile file, load_gguf(bytes));
  return VisionModel::load(std::move(file), scalar_kernels());
}

void expect_refused(const Bytes& bytes, ErrorCode code, const std::string& words) {
  const auto model = load_reader(bytes);
  ASSERT_FALSE(model.ok()) << "expected: " << words;
  EXPECT_EQ(error_code_name(model.error().code), error_code_name(code)) << model.error().message;
  EXPECT_NE(model.error().message.find(words), std::string::npos) << model.error().message;
}

// Replaces the bytes of a text, which follow its key, its type and its length.
Bytes with_text(const char* fixture, std::string_view key, std::string_view text) {
  Bytes file = read_fixture(fixture);
  std::memcpy(&file[find_text(file, key) + key.size() + 12], text.data(), text.size());
  return file;
}

uint32_t bits(float number) { return bit_cast<uint32_t>(number); }

TEST(VisionModel, IsPackedWhileItsFileArrives) {
  const Bytes bytes = read_fixture(kFixture);
  const auto whole = load_reader(bytes);
  ASSERT_TRUE(whole.ok());
  for (const size_t n_threads : {1u, 3u}) {
    ThreadPool pool(n_threads);
    GgufLoader loader(bytes.size());
    PreparedVision prepared(scalar_kernels());
    auto file = receive(loader, std::as_bytes(std::span(bytes)), 999, prepared, pool);
    ASSERT_TRUE(file.ok() && prepared.bound && prepared.bound->ok());
    EXPECT_TRUE(prepared.bound->value().encoder.fill.is_done());
    const auto model = VisionModel::load(std::move(file.value()), std::move(prepared));
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model.value().identity(), whole.value().identity());
  }
}

TEST(VisionModel, AnyWeightIsPartOfItsIdentity) {
  Bytes bytes = read_fixture(kFixture);
  const auto before = load_reader(bytes);
  bytes[bytes.size() - 40] ^= std::byte{1};
  const auto after = load_reader(bytes);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(before.value().identity(), after.value().identity());
}

TEST(VisionModel, RefusesATextModel) {
  expect_refused(TinyModel{}.build(), ErrorCode::unsupported_architecture,
                 "architecture \"llama\" is a text model, expected a picture reader");
}

TEST(VisionModel, IsRefusedAsATextModel) {
  expect_error(read_fixture(kFixture), ErrorCode::unsupported_architecture,
               "the file is a picture reader (mmproj), not a model");
}

TEST(VisionModel, RefusesReadersOfSounds) {
  GgufBuilder file;
  file.set("general.architecture", "clip").set_bool("clip.has_audio_encoder", true);
  expect_refused(file.build(), ErrorCode::unsupported_feature, "reads only sounds");
}

TEST(VisionModel, RefusesAnUnknownProjector) {
  expect_refused(with_text(kFixture, "clip.projector_type", "idefics4"),
                 ErrorCode::unsupported_feature,
                 "projector \"idefics4\" is not supported (supported: idefics3, lfm2, gemma3, ");
}

TEST(VisionModel, RefusesMissingAndSuperfluousTensors) {
  expect_refused(without(kFixture, "v.blk.1.ffn_up.weight"), ErrorCode::missing_tensor,
                 "tensor v.blk.1.ffn_up.weight is missing");
  expect_refused(without(kFixture, "mm.model.fc.weight"), ErrorCode::missing_tensor,
                 "tensor mm.model.fc.weight is missing");
  expect_refused(without(kFixture, "v.position_embd.weight"), ErrorCode::missing_tensor,
                 "tensor v.position_embd.weight is missing");
  expect_refused(without(kFixture, "v.patch_embd.bias"), ErrorCode::unsupported_feature,
                 "is not used by this architecture");
}

TEST(VisionModel, RefusesIncompleteTensorsOfGemma4) {
  constexpr const char* kGemma4 = "vision/gemma4v.gguf";
  for (const std::string name : {"v.position_embd.weight", "v.blk.1.attn_q_norm.weight",
                                 "v.blk.0.attn_post_norm.weight", "v.blk.1.ffn_post_norm.weight",
                                 "v.std_bias", "v.std_scale", "mm.input_projection.weight"}) {
    expect_refused(without(kGemma4, name), ErrorCode::missing_tensor, "tensor " + name);
  }
  expect_refused(without(kGemma4, "v.blk.0.attn_q.input_min"), ErrorCode::unsupported_feature,
                 "is not used by this architecture");
}

TEST(VisionModel, RefusesBoundsThatAreNoNumbers) {
  Bytes file = read_fixture("vision/gemma4v.gguf");
  const float bound = 1.9f;  // of mm.input_projection.output_max, the last tensor
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto at =
      std::find_end(file.begin(), file.end(), std::as_bytes(std::span(&bound, 1)).begin(),
                    std::as_bytes(std::span(&bound, 1)).end());
  ASSERT_NE(at, file.end());
  std::memcpy(&*at, &nan, sizeof nan);
  expect_refused(file, ErrorCode::not_finite, "mm.input_projection.output_max contains NaN");
}

TEST(VisionModel, RefusesSizesOutOfRange) {
  const auto expect = [](const char* key, uint32_t value, const char* words) {
    expect_refused(with_number(kFixture, key, value), ErrorCode::corrupt, words);
  };
  expect("vision.image_size", 0, "clip.vision.image_size is 0, expected 1 to 4096");
  expect("vision.patch_size", 0, "clip.vision.patch_size is 0, expected 1 to 256");
  expect("vision.embedding_length", 0, "clip.vision.embedding_length is 0");
  expect("vision.block_count", 0, "clip.vision.block_count is 0");
  expect("attention.head_count", 0, "clip.vision.attention.head_count_kv is 0 in layer 0");
  expect("projector.scale_factor", 0, "clip.vision.projector.scale_factor is 0, expected 1 to 16");
  expect("preproc_image_size", 99999, "clip.vision.preproc_image_size is 99999");
  expect_refused(with_number(kFixture, "projector.scale_factor", 3), ErrorCode::unsupported_feature,
                 "do not divide a side of 160 pixels");
  expect_refused(with_number("vision/qwen3vl.gguf", "spatial_merge_size", 3),
                 ErrorCode::unsupported_feature, "spatial_merge_size is 3, expected 2");
  expect_refused(with_number("vision/gemma4v-Q8_0.gguf", "projector.scale_factor", 0),
                 ErrorCode::corrupt, "projector.scale_factor is 0, expected 1 to 16");
  expect_refused(with_number("vision/qwen25vl.gguf", "vision.patch_size", 64),
                 ErrorCode::unsupported_feature,
                 "2 patches in a row are wider than a window of 112 pixels");
  expect_refused(
      with_number("vision/lfm2.gguf", "vision.patch_size", 1), ErrorCode::corrupt,
      "is 1, which makes 262144 patches in a square of 512 pixels, expected at most 65536");
}

TEST(VisionModel, RefusesAWrongNormalization) {
  expect_refused(with_element(kFixture, "vision.image_std", 1, bits(0)), ErrorCode::corrupt,
                 "clip.vision.image_std is 0, which is not positive");
  expect_refused(
      with_element(kFixture, "vision.image_mean", 2, bits(std::numeric_limits<float>::quiet_NaN())),
      ErrorCode::not_finite, "clip.vision.image_mean contains NaN");
}

TEST(VisionModel, RefusesWrongShapes) {
  expect_refused(with_number(kFixture, "vision.image_size", 192), ErrorCode::wrong_shape,
                 "tensor v.position_embd.weight has shape");
  expect_refused(with_number(kFixture, "vision.patch_size", 8), ErrorCode::wrong_shape,
                 "tensor v.patch_embd.weight has shape");
  expect_refused(with_number(kFixture, "attention.head_count", 3), ErrorCode::wrong_shape,
                 "tensor v.blk.0.attn_q.weight has shape");
  expect_refused(with_number("vision/qwen3vl.gguf", "attention.head_count", 32), ErrorCode::corrupt,
                 "leads to a head size of 2, expected a multiple of 4");
  expect_refused(with_number("vision/gemma4v.gguf", "attention.head_count", 32), ErrorCode::corrupt,
                 "leads to a head size of 2, expected a multiple of 4");
}

TEST(VisionModel, KnowsWhichModelItFits) {
  const auto model = load_reader(read_fixture("vision/qwen3vl-deepstack.gguf"));
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model.value().width(), 96u);
  EXPECT_TRUE(check_fits(model.value(), 96).ok());
  const Status status = check_fits(model.value(), 48);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::wrong_shape);
  EXPECT_EQ(
      status.error().message,
      "the picture reader makes rows of 96 numbers, but the model reads rows of 48: it belongs "
      "to another model");
}

}  // namespace
}  // namespace kinglet
