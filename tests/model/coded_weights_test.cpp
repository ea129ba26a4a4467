// Models whose weights are kept in another form than in their files (see DTypeInfo::coded).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/packing.h"
#include "model/codebook_model.h"
#include "model/reference.h"
#include "model/runner.h"
#include "model/tensor_taker.h"

namespace kinglet {
namespace {

class CodedWeights : public testing::TestWithParam<std::tuple<DType, const KernelSet*>> {
 protected:
  const DTypeInfo& type() const { return dtype_info(std::get<0>(GetParam())); }
  const KernelSet& kernels() const { return *std::get<1>(GetParam()); }
};

TEST_P(CodedWeights, AnswerLikeTheSameWeightsInF32) {
  const auto tokens = read_reference("quant/llama-f32.json").tokens;
  for (const uint32_t n_batch : {1u, 16u}) {
    const auto answer = [&](bool as_floats, const KernelSet& set) {
      auto file = load_gguf(codebook_model(type(), as_floats));
      EXPECT_TRUE(file.ok());
      const auto runner = ModelRunner::create(std::move(file.value()), set, n_batch, 1);
      EXPECT_TRUE(runner.ok()) << runner.error().message;
      return log_softmax(runner.value()->append(tokens));
    };
    const auto expected = answer(true, scalar_kernels());
    const Difference difference = compare(answer(false, kernels()), expected);
    // The weights matter: without them, all tokens would be equally likely.
    const std::vector<double> uniform(expected.size(),
                                      -std::log(static_cast<double>(expected.size())));
    EXPECT_GT(compare(uniform, expected).kl_divergence, 1.0);
    if (&kernels() == &scalar_kernels()) {
      EXPECT_LT(difference.probability, 2e-3);
    }
    EXPECT_LT(difference.kl_divergence, 0.02);
  }
}

TEST_P(CodedWeights, TakeTheMemoryThatTheirHeaderTells) {
  const Bytes bytes = codebook_model(type());
  auto beginning = AlignedBuffer::allocate(bytes.size(), "a test");
  ASSERT_TRUE(beginning.ok());
  std::copy(bytes.begin(), bytes.end(), beginning.value().data());
  auto outline = GgufFile::outline(std::move(beginning.value()), bytes.size());
  ASSERT_TRUE(outline.ok());
  const uint64_t room_bytes = outline.value().room_bytes();
  const auto planned = Model::outline(std::move(outline.value()), kernels());
  auto file = load_gguf(bytes);
  ASSERT_TRUE(planned.ok() && file.ok());
  const uint64_t file_bytes = file.value().header().data_bytes;
  const auto model = Model::load(std::move(file.value()), kernels());
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model.value().weight_bytes(), planned.value().weight_bytes());
  EXPECT_EQ(model.value().weight_bytes(), file_bytes + room_bytes);
  EXPECT_GT(room_bytes, 0u);
  EXPECT_LT(model.value().weight_bytes(), 1.45 * static_cast<double>(file_bytes));
  EXPECT_EQ(model.value().stored_bytes(), 0u);
}

// A model is known by the bytes of its file, whatever kernels make of them.
TEST_P(CodedWeights, AreIdentifiedByTheBytesOfTheFile) {
  const auto identity = [](const Bytes& bytes, const KernelSet& set) {
    const auto model = Model::load(std::move(load_gguf(bytes).value()), set);
    EXPECT_TRUE(model.ok());
    return model.value().identity(0);
  };
  const Bytes bytes = codebook_model(type());
  const uint64_t expected = identity(bytes, scalar_kernels());
  EXPECT_EQ(identity(bytes, kernels()), expected);
  const GgufFile file = std::move(load_gguf(bytes).value());
  for (const TensorInfo& tensor : file.header().tensors) {
    // Of a table, only some rows count, among them the first.
    const uint64_t n_bytes =
        tensor.name == "token_embd.weight"
            ? dtype_info(tensor.type).row_bytes(static_cast<size_t>(tensor.shape[0]))
            : tensor.bytes;
    for (const uint64_t at : {uint64_t{0}, n_bytes / 2, n_bytes - 1}) {
      Bytes changed = bytes;
      changed[static_cast<size_t>(file.header().data_offset + tensor.offset + at)] ^= std::byte{1};
      EXPECT_NE(identity(changed, kernels()), expected) << tensor.name << ", byte " << at;
    }
  }
}

// While a file arrives, threads pack parts of it in any order. Rows are written over the file's
// rows, but never over rows that are still needed.
TEST_P(CodedWeights, MayArriveInPiecesAndBePackedInAnyOrder) {
  constexpr uint64_t kRows = 4001;  // of each of three slices
  constexpr uint64_t kColumns = 512;
  std::mt19937 random(11);
  const Bytes blocks = codebook_blocks(type(), 3 * kRows * kColumns, 0.02, random);
  const std::vector<float> after(64, 5.0f);
  const Bytes bytes = GgufBuilder()
                          .set("general.architecture", "none")
                          .add_f32("before", {64}, after)
                          .add_tensor("slices", type().type, {kColumns, kRows, 3}, blocks)
                          .add_f32("after", {64}, after)
                          .build();
  std::vector<PackedMatrix> slices;
  const auto take_all = [&](GgufFile& file) {
    TensorTaker taker(file, kernels());
    auto experts = taker.experts("slices", 3, 1, kRows, kColumns);
    EXPECT_TRUE(experts.ok()) << experts.error().message;
    slices = std::move(experts.value());
    EXPECT_TRUE(taker.vector("before", 64).ok() && taker.vector("after", 64).ok());
    return std::move(taker.finish().value());
  };
  GgufFile whole = std::move(load_gguf(bytes).value());
  WeightFill at_once = take_all(whole);
  ASSERT_TRUE(at_once.finish().ok());

  GgufLoader loader(bytes.size());
  std::optional<WeightFill> fill;
  std::vector<std::byte> room;
  size_t n_parts = 0;
  for (size_t done = 0; done < bytes.size();) {
    const auto space = loader.reserve(size_t{200} << 10);
    ASSERT_TRUE(space.ok());
    if (space.value().empty()) break;
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(done), space.value().size(),
                space.value().begin());
    done += space.value().size();
    ASSERT_TRUE(loader.commit(space.value().size()).ok());
    if (loader.file() == nullptr) continue;
    if (!fill) {
      fill = take_all(*loader.file());
      room.resize(fill->room_bytes());
    }
    auto parts = fill->next_parts(loader.arrived(), size_t{500} << 10);
    std::shuffle(parts.begin(), parts.end(), random);
    for (WeightFill::Part& part : parts) {
      fill->run(part, room.data());
      fill->note(part);
    }
    n_parts += parts.size();
  }
  auto file = loader.finish();
  ASSERT_TRUE(file.ok());
  EXPECT_GT(n_parts, 6u);
  ASSERT_TRUE(fill->finish().ok());
  EXPECT_EQ(fill->hash(), at_once.hash());

  const std::vector<float> expected = decode(type(), blocks);
  std::vector<float> row(kColumns);
  for (size_t i = 0; i < 3 * kRows; ++i) {
    dequantize_row(slices[i / kRows], i % kRows, row.data());
    const auto* first = expected.data() + i * kColumns;
    ASSERT_TRUE(std::equal(row.begin(), row.end(), first)) << "row " << i;
  }
  const auto* info = file.value().header().find_tensor("after");
  const TensorView view = file.value().tensor(*info);
  EXPECT_EQ(0, std::memcmp(view.bytes.data(), after.data(), view.bytes.size()));
}

INSTANTIATE_TEST_SUITE_P(Types, CodedWeights,
                         testing::Combine(testing::ValuesIn(codebook_types()),
                                          testing::ValuesIn(available_kernels().begin(),
                                                            available_kernels().end())),
                         [](const auto& test) {
                           return test_name(std::string(dtype_info(std::get<0>(test.param)).name) +
                                            "_" + std::string(std::get<1>(test.param)->name));
                         });

}  // namespace
}  // namespace kinglet
