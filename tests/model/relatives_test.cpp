// The features in which Llama's relatives differ from it, in files that lack them or contradict
// themselves.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/damage.h"
#include "model/runner.h"
#include "model/shift.h"

namespace kinglet {
namespace {

TEST(Relatives, ApertusNamesAMissingShapeOfItsActivation) {
  for (const std::string key : {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"}) {
    expect_error(without("arch/apertus.gguf", key), ErrorCode::missing_metadata, key);
  }
}

TEST(Relatives, ApertusNamesAShapeThatIsNone) {
  constexpr const char* kFixture = "arch/apertus.gguf";
  constexpr uint32_t kInfinity = 0x7f800000;
  expect_error(with_element(kFixture, "xielu.alpha_n", 1, kInfinity), ErrorCode::corrupt,
               "xielu.alpha_n is not an array of one finite number for each of 2 layers, but of 2");
  expect_error(with_number(kFixture, "xielu.beta", kInfinity), ErrorCode::not_finite, "xielu.beta");
}

TEST(Relatives, ApertusWantsAShapeForEachLayer) {
  auto file = load_gguf(read_fixture("arch/apertus.gguf"));
  ASSERT_TRUE(file.ok());
  const Keys keys = Keys::without_prefix(file.value().header());
  EXPECT_EQ(keys.number_of_layer("xielu.alpha_p", 2, 1).value(), -0.5f);
  EXPECT_EQ(keys.number_of_layer("xielu.beta", 2, 1).value(), 0.5f);
  const auto other = keys.number_of_layer("xielu.alpha_p", 3, 1);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message,
            "xielu.alpha_p is not an array of one finite number for each of 3 layers, but of 2 "
            "values");
}

TEST(Relatives, ASharedExpertNamesItsMissingGate) {
  expect_error(without("hybrid/qwen35moe.gguf", "blk.1.ffn_gate_inp_shexp.weight"),
               ErrorCode::missing_tensor,
               "tensor blk.1.ffn_gate_inp_shexp.weight is missing (expected shape [48])");
}

TEST(Relatives, ExpertsInOneTensorNameItsShape) {
  expect_error(with_number("hybrid/qwen35moe.gguf", "qwen35moe.expert_feed_forward_length", 16),
               ErrorCode::wrong_shape, "ffn_gate_exps.weight has shape [48, 32, 6]");
  expect_error(without("hybrid/qwen35moe.gguf", "blk.2.ffn_gate_up_exps.weight"),
               ErrorCode::missing_tensor, "tensor blk.2.ffn_gate_exps.weight is missing");
}

TEST(Relatives, K2HorizonNamesWhatItDoesNotSupport) {
  constexpr const char* kFixture = "arch/k2-horizon.gguf";
  constexpr const char* kGroups = "k2-horizon.attention.group_norm_groups";
  expect_error(with_number(kFixture, kGroups, 5), ErrorCode::corrupt,
               "group_norm_groups is 5, expected a divisor of the width 48");
  expect_error(with_number(kFixture, kGroups, 0), ErrorCode::corrupt, "expected 1 to 48");
  // Larger models route values: such a file has other tensors in place of this one.
  expect_error(without(kFixture, "blk.1.attn_v.weight"), ErrorCode::missing_tensor,
               "tensor blk.1.attn_v.weight is missing");
}

// A norm multiplies each element of a rotated key by its own weight: after that, a further rotation
// cannot be applied.
TEST(Relatives, KeysThatAreNormalizedLastAreNotShifted) {
  for (const char* fixture : {"arch/hunyuan-dense.gguf", "arch/maincoder.gguf"}) {
    const auto created = ModelRunner::create(fixture, scalar_kernels(), 16, 1);
    ASSERT_TRUE(created.ok()) << created.error().message;
    ModelRunner& runner = *created.value();
    runner.append(std::vector<int32_t>{1, 5, 6, 7, 8, 9});
    const Status status = shift_positions(runner.model, runner.state, 1, 2);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::unsupported_feature);
    EXPECT_NE(status.error().message.find("normalizes keys after rotating them"),
              std::string::npos);
    EXPECT_EQ(runner.state.size(), 6u);
  }
}

}  // namespace
}  // namespace kinglet
