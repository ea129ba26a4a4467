// Every kernel set, compared with scalar: types × odd sizes × batch sizes.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/kernel_support.h"
#include "kernels/packing.h"

namespace kinglet {
namespace {

// Blocks of random bytes whose weights are all finite and not unusually large.
std::vector<std::byte> random_blocks(const DTypeInfo& type, size_t n_blocks, Random& random) {
  std::vector<std::byte> blocks(n_blocks * type.block_bytes);
  std::vector<float> weights(type.block_size);
  for (size_t i = 0; i < n_blocks; ++i) {
    std::byte* block = blocks.data() + i * type.block_bytes;
    do {
      for (size_t j = 0; j < type.block_bytes; ++j) block[j] = static_cast<std::byte>(random());
      type.dequantize(block, weights.data(), type.block_size);
    } while (!std::all_of(weights.begin(), weights.end(),
                          [](float w) { return std::fabs(w) < 100.0f; }));
  }
  return blocks;
}

// Rows that 8-bit quantization stores exactly: whole numbers, with a 127 in each block of 32.
std::vector<float> exact_activations(size_t n, Random& random) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = i % kActivationBlock == 0 ? 127.0f : static_cast<float>(random() % 255) - 127.0f;
  }
  return values;
}

// The most bytes that a kernel set uses for a block of activations.
size_t most_block_bytes() {
  size_t most = 0;
  for (const KernelSet* set : available_kernels())
    most = std::max(most, set->activation_block_bytes);
  return most;
}

// Activations, with room for their quantized form.
struct Batch {
  std::vector<float> values;
  std::vector<std::byte> blocks;
  std::vector<SumTable> tables;
  std::vector<int32_t> negative_sums;
  Activations view;

  Batch(std::vector<float> rows, size_t n_columns)
      : values(std::move(rows)),
        blocks(values.size() / kActivationBlock * most_block_bytes()),
        tables(values.size() / kTableColumns + 1),
        negative_sums(values.size() / kActivationBlock + 1),
        view{values.data(), n_columns, blocks.data(), tables.data(), negative_sums.data()} {}
};

// Products, and for each the sum of the absolute values of its terms: rounding errors are relative
// to that sum.
struct Products {
  std::vector<float> y;
  std::vector<float> magnitude;
};

Products multiply_exactly(const DTypeInfo& type, const std::vector<std::byte>& blocks,
                          size_t n_rows, const Batch& batch, size_t n_tokens) {
  const size_t n = batch.view.n_columns;
  std::vector<float> w(n_rows * n);
  type.dequantize(blocks.data(), w.data(), w.size());
  Products products;
  for (size_t t = 0; t < n_tokens; ++t) {
    for (size_t r = 0; r < n_rows; ++r) {
      double sum = 0;
      double magnitude = 0;
      for (size_t i = 0; i < n; ++i) {
        const double product =
            static_cast<double>(w[r * n + i]) * static_cast<double>(batch.values[t * n + i]);
        sum += product;
        magnitude += std::fabs(product);
      }
      products.y.push_back(static_cast<float>(sum));
      products.magnitude.push_back(static_cast<float>(magnitude));
    }
  }
  return products;
}

class EachKernelSet : public testing::TestWithParam<const KernelSet*> {
 protected:
  const KernelSet& kernels() const { return *GetParam(); }

  std::vector<float> multiply(const PackedMatrix& w, const Batch& batch, size_t n_tokens) {
    const ActivationFormat format = matmul_kernel(kernels(), w.type).activations;
    for (size_t t = 0; t < n_tokens; ++t) prepare_activations(kernels(), format, batch.view, t);
    std::vector<float> y(n_tokens * w.n_rows, NAN);
    multiply_rows(kernels(), w, batch.view, n_tokens, y.data(), w.n_rows, 0, w.n_rows);
    return y;
  }

  Random random_{7};
};

TEST_P(EachKernelSet, MultipliesEveryTypeAsDequantizedWeightsDo) {
  for (const DTypeInfo& type : dtypes_in_memory()) {
    for (const size_t n_rows : {1u, 5u, 32u, 37u, 101u}) {
      for (const size_t n_blocks : {1u, 3u, 5u}) {
        // For types without blocks, no vector width divides the lengths.
        const size_t n_columns =
            type.block_size == 1 ? n_blocks * 32 + n_blocks : n_blocks * type.block_size;
        auto blocks = random_blocks(type, n_rows * n_columns / type.block_size, random_);
        for (const size_t n_tokens : {1u, 2u, 7u, 33u}) {
          const Batch batch(exact_activations(n_tokens * n_columns, random_), n_columns);
          const Products expected = multiply_exactly(type, blocks, n_rows, batch, n_tokens);
          auto packed_bytes = blocks;
          const TensorView tensor{"w", type.type, {n_columns, n_rows, 1, 1}, packed_bytes};
          const auto packed = pack_in_place(tensor, kernels());
          ASSERT_TRUE(packed.ok());
          const std::vector<float> y = multiply(packed.value(), batch, n_tokens);
          for (size_t i = 0; i < y.size(); ++i) {
            ASSERT_NEAR(y[i], expected.y[i], 1e-5f * expected.magnitude[i] + 1e-6f)
                << type.name << " " << n_rows << "x" << n_columns << ", " << n_tokens
                << " tokens, output " << i;
          }
        }
      }
    }
  }
}

TEST_P(EachKernelSet, RoundsActivationsByHalfACodeAtMost) {
  constexpr size_t kColumns = 96;
  std::normal_distribution<float> normal;
  std::vector<float> values(2 * kColumns);
  for (float& x : values) x = normal(random_);
  std::fill_n(values.begin() + kColumns, kActivationBlock, 0.0f);  // a block of zeros
  const Batch batch(values, kColumns);
  for (size_t t = 0; t < 2; ++t) kernels().quantize(batch.view, t);

  // A Q8_0 identity matrix returns the codes, whatever their width.
  std::vector<std::byte> blocks(kColumns * kColumns / BlockQ8_0::kSize * sizeof(BlockQ8_0));
  auto* block = reinterpret_cast<BlockQ8_0*>(blocks.data());
  for (size_t i = 0; i < kColumns * kColumns / BlockQ8_0::kSize; ++i) {
    block[i] = {.scale = to_half(1.0f), .codes = {}};
  }
  for (size_t r = 0; r < kColumns; ++r) {
    block[(r * kColumns + r) / BlockQ8_0::kSize].codes[r % BlockQ8_0::kSize] = 1;
  }
  const auto packed =
      pack_in_place({"identity", DType::q8_0, {kColumns, kColumns, 1, 1}, blocks}, kernels());
  ASSERT_TRUE(packed.ok());
  const std::vector<float> y = multiply(packed.value(), batch, 2);
  for (size_t i = 0; i < y.size(); ++i) {
    const auto first =
        values.begin() + static_cast<ptrdiff_t>(i / kActivationBlock * kActivationBlock);
    const auto [least, most] = std::minmax_element(first, first + kActivationBlock);
    const float scale = std::max(-*least, *most) / 127.0f;
    EXPECT_LE(std::fabs(y[i] - values[i]), scale * 0.5f * 1.0001f) << i;
  }
  EXPECT_EQ(y[kColumns], 0.0f);
}

// NaN or infinity at any place of a block affects all products of its token, and no others.
TEST_P(EachKernelSet, ProductsOfWhatIsNotFiniteAreNotFinite) {
  constexpr size_t kRows = 37;
  constexpr size_t kColumns = 512;
  for (const DTypeInfo& type : dtypes_in_memory()) {
    auto blocks = random_blocks(type, kRows * kColumns / type.block_size, random_);
    const auto packed = pack_in_place({"w", type.type, {kColumns, kRows, 1, 1}, blocks}, kernels());
    ASSERT_TRUE(packed.ok());
    const auto values = exact_activations(3 * kColumns, random_);
    const auto expected = multiply(packed.value(), Batch(values, kColumns), 3);
    for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
      for (size_t at = 0; at < kColumns; at += at < kActivationBlock ? 1 : 67) {
        auto damaged = values;
        damaged[kColumns + at] = bad;
        const auto y = multiply(packed.value(), Batch(damaged, kColumns), 3);
        for (size_t i = 0; i < y.size(); ++i) {
          if (i / kRows == 1) {
            ASSERT_FALSE(std::isfinite(y[i])) << type.name << " " << bad << " " << at << " " << i;
          } else {
            ASSERT_EQ(y[i], expected[i]) << type.name << " " << bad << " " << at << " " << i;
          }
        }
      }
    }
  }
}

TEST_P(EachKernelSet, MultipliesTheLargestAndTheSmallestNumbers) {
  constexpr size_t kRows = 16;
  constexpr size_t kColumns = 256;
  for (const DTypeInfo& type : dtypes_in_memory()) {
    auto blocks = random_blocks(type, kRows * kColumns / type.block_size, random_);
    auto packed_bytes = blocks;
    const auto packed =
        pack_in_place({"w", type.type, {kColumns, kRows, 1, 1}, packed_bytes}, kernels());
    ASSERT_TRUE(packed.ok());
    for (const float unit : {1e20f, 1e30f, 2e36f, 1e-20f, 1e-33f, 1e-37f, 1e-38f, 1e-42f}) {
      const float tolerance = unit * 127 < kSmallestNumber ? 1.001f : 1e-4f;
      auto values = exact_activations(kColumns, random_);
      for (float& x : values) x *= unit;
      const Batch batch(values, kColumns);
      const Products expected = multiply_exactly(type, blocks, kRows, batch, 1);
      const auto y = multiply(packed.value(), batch, 1);
      for (size_t i = 0; i < y.size(); ++i) {
        if (!(expected.magnitude[i] < 1e38f)) continue;  // partial sums may overflow
        ASSERT_NEAR(y[i], expected.y[i], tolerance * expected.magnitude[i] + 1e-40f)
            << type.name << " " << unit << " " << i;
      }
    }
  }
}

// A matrix with the same byte everywhere, and scales of 1.
template <class Block>
std::vector<std::byte> uniform_blocks(size_t n_blocks, uint8_t byte) {
  Block block;
  std::memset(static_cast<void*>(&block), byte, sizeof block);
  if constexpr (std::is_same_v<Block, BlockNVFP4>) {
    for (uint8_t& scale : block.scales) scale = 0x40;
  } else {
    block.scale = to_half(1.0f);
  }
  std::vector<std::byte> blocks(n_blocks * sizeof block);
  for (size_t i = 0; i < n_blocks; ++i) {
    std::memcpy(blocks.data() + i * sizeof block, &block, sizeof block);
  }
  return blocks;
}

// The largest sums that must fit a kernel's narrow integers.
TEST_P(EachKernelSet, MultipliesTheLargestCodesAndActivations) {
  constexpr size_t kRows = 67;
  constexpr size_t kColumns = 512;
  const auto expect_products = [&](DType id, const auto& uniform) {
    const DTypeInfo& type = dtype_info(id);
    for (const int byte : {0x00, 0xff, 0xaa, 0x55, 0x77, 0x88, 0xf0}) {
      auto blocks = uniform(kRows * kColumns / type.block_size, static_cast<uint8_t>(byte));
      const auto original = blocks;
      const auto packed = pack_in_place({"w", id, {kColumns, kRows, 1, 1}, blocks}, kernels());
      ASSERT_TRUE(packed.ok());
      for (const auto& [even, odd] : {std::pair{127.0f, 127.0f},
                                      {-127.0f, -127.0f},
                                      {127.0f, -127.0f},
                                      {-127.0f, 127.0f},
                                      {0.0f, 0.0f},
                                      {127.0f, 0.0f}}) {
        std::vector<float> values(kColumns);
        for (size_t i = 0; i < kColumns; ++i) values[i] = i % 2 == 0 ? even : odd;
        const Batch batch(values, kColumns);
        const Products expected = multiply_exactly(type, original, kRows, batch, 1);
        const auto y = multiply(packed.value(), batch, 1);
        for (size_t i = 0; i < kRows; ++i) {
          ASSERT_NEAR(y[i], expected.y[i], 1e-5f * expected.magnitude[i])
              << type.name << " " << byte << " " << even << " " << odd;
        }
      }
    }
  };
  expect_products(DType::q1_0, uniform_blocks<BlockQ1_0>);
  expect_products(DType::q2_0, uniform_blocks<BlockQ2_0>);
  expect_products(DType::pq2_0, uniform_blocks<BlockPQ2_0>);
  expect_products(DType::tq2_0, uniform_blocks<BlockTQ2_0>);
  expect_products(DType::tq1_0, uniform_blocks<BlockTQ1_0>);
  expect_products(DType::ptq1_0, uniform_blocks<BlockPTQ1_0>);
  expect_products(DType::nvfp4, uniform_blocks<BlockNVFP4>);
}

// Reading a prompt in batches must not change the answer. Rows are short, or so wide that only a
// few of them, or none, are widened together.
TEST_P(EachKernelSet, ProductsAreTheSameInEveryBatch) {
  constexpr size_t kRows = 69;
  constexpr size_t kTokens = 11;
  std::normal_distribution<float> normal;
  for (const size_t n_columns : {512u, 2048u, 2304u}) {
    std::vector<float> values(kTokens * n_columns);
    for (float& x : values) x = normal(random_);
    for (const DTypeInfo& type : dtypes_in_memory()) {
      auto blocks = random_blocks(type, kRows * n_columns / type.block_size, random_);
      const TensorView tensor{"w", type.type, {n_columns, kRows, 1, 1}, blocks};
      const auto packed = pack_in_place(tensor, kernels());
      ASSERT_TRUE(packed.ok());
      const auto together = multiply(packed.value(), Batch(values, n_columns), kTokens);
      for (size_t t = 0; t < kTokens; ++t) {
        const auto* token = values.data() + t * n_columns;
        const auto alone =
            multiply(packed.value(), Batch({token, token + n_columns}, n_columns), 1);
        ASSERT_TRUE(std::equal(alone.begin(), alone.end(),
                               together.begin() + static_cast<ptrdiff_t>(t * kRows)))
            << type.name << ", " << n_columns << " columns, token " << t;
      }
    }
  }
}

// Floats of 16 bits are widened in registers, not a part of a row at a time, so sums have the same
// order as those of F32.
TEST_P(EachKernelSet, FloatsOf16BitsMultiplyLikeF32) {
  constexpr size_t kRows = 7;
  constexpr size_t kTokens = 5;
  constexpr size_t kColumns = 2309;
  const Batch batch(numbers(kTokens * kColumns, random_), kColumns);
  const auto product = [&](DType type, std::vector<std::byte>& bytes) {
    const TensorView tensor{"w", type, {kColumns, kRows, 1, 1}, bytes};
    const auto packed = pack_in_place(tensor, kernels());
    EXPECT_TRUE(packed.ok());
    return multiply(packed.value(), batch, kTokens);
  };
  for (const DType type : {DType::f16, DType::bf16}) {
    const DTypeInfo& info = dtype_info(type);
    auto bytes = random_blocks(info, kRows * kColumns, random_);
    std::vector<std::byte> floats(kRows * kColumns * sizeof(float));
    info.dequantize(bytes.data(), reinterpret_cast<float*>(floats.data()), kRows * kColumns);
    EXPECT_EQ(product(type, bytes), product(DType::f32, floats)) << info.name;
  }
}

// Sum i of a table is the sum of the codes whose bits are set in i, minus the sum of the negative
// codes.
TEST_P(EachKernelSet, TabulatesSumsOfCodes) {
  constexpr size_t kColumns = 256;
  auto values = exact_activations(2 * kColumns, random_);
  std::fill_n(values.begin() + 32, 32, 127.0f);
  std::fill_n(values.begin() + 64, 32, -127.0f);
  std::fill_n(values.begin() + 96, 32, 0.0f);
  const Batch batch(values, kColumns);
  for (size_t t = 0; t < 2; ++t) {
    prepare_activations(kernels(), ActivationFormat::tables, batch.view, t);
  }
  for (size_t block = 0; block < values.size() / kActivationBlock; ++block) {
    int negative_sum = 0;
    for (size_t i = 0; i < kActivationBlock; i += kTableColumns) {
      const float* codes = values.data() + block * kActivationBlock + i;
      const SumTable& table = batch.tables[(block * kActivationBlock + i) / kTableColumns];
      float negatives = 0;
      for (size_t j = 0; j < kTableColumns; ++j) negatives += std::min(codes[j], 0.0f);
      negative_sum += static_cast<int>(negatives);
      for (unsigned bits = 0; bits < kTableSums; ++bits) {
        float sum = -negatives;
        for (size_t j = 0; j < kTableColumns; ++j) sum += (bits >> j & 1) != 0 ? codes[j] : 0.0f;
        EXPECT_EQ(static_cast<float>(table.low[bits] + 32 * table.high[bits]), sum) << block;
        EXPECT_EQ(table.low[bits] & ~31, 0);
        EXPECT_EQ(table.high[bits] & ~15, 0);
      }
    }
    EXPECT_EQ(batch.negative_sums[block], negative_sum) << block;
  }
}

TEST_P(EachKernelSet, RowsCanBeMultipliedInParts) {
  constexpr size_t kRows = 117;
  constexpr size_t kColumns = 512;
  for (const DTypeInfo& type : dtypes_in_memory()) {
    auto blocks = random_blocks(type, kRows * kColumns / type.block_size, random_);
    const auto packed = pack_in_place({"w", type.type, {kColumns, kRows, 1, 1}, blocks}, kernels());
    ASSERT_TRUE(packed.ok());
    const Batch batch(exact_activations(kColumns, random_), kColumns);
    const std::vector<float> whole = multiply(packed.value(), batch, 1);
    std::vector<float> parts(kRows, NAN);
    for (const auto& [begin, end] : {std::pair<size_t, size_t>{0, 32}, {32, 96}, {96, 117}}) {
      multiply_rows(kernels(), packed.value(), batch.view, 1, parts.data(), kRows, begin, end);
    }
    EXPECT_EQ(parts, whole) << type.name;
  }
}

TEST_P(EachKernelSet, PackedRowsDequantizeToTheSameWeights) {
  for (const DTypeInfo& type : dtypes_in_memory()) {
    constexpr size_t kRows = 53;
    const size_t n_columns = 3 * std::max<size_t>(type.block_size, 8);
    auto blocks = random_blocks(type, kRows * n_columns / type.block_size, random_);
    std::vector<float> expected(kRows * n_columns);
    type.dequantize(blocks.data(), expected.data(), expected.size());
    const auto packed =
        pack_in_place({"w", type.type, {n_columns, kRows, 1, 1}, blocks}, kernels());
    ASSERT_TRUE(packed.ok());
    std::vector<float> row(n_columns);
    for (size_t r = 0; r < kRows; ++r) {
      dequantize_row(packed.value(), r, row.data());
      ASSERT_TRUE(std::equal(row.begin(), row.end(),
                             expected.begin() + static_cast<ptrdiff_t>(r * n_columns)))
          << type.name << " row " << r;
    }
  }
}

class VectorFunctions : public EachKernelSet {
 protected:
  std::vector<float> numbers(size_t n, float scale = 1.0f) {
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> x(n);
    for (float& value : x) value = normal(random_);
    return x;
  }
};

constexpr size_t kLengths[] = {1, 3, 4, 7, 16, 31, 64, 67, 576};

TEST_P(VectorFunctions, NormalizeAsDefined) {
  for (const size_t n : kLengths) {
    const auto x = numbers(n);
    const auto weight = numbers(n);
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    std::vector<float> out(n);
    kernels().rms_norm(x.data(), weight.data(), 1e-5f, n, out.data());
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(out[i], static_cast<double>(x[i]) * scale * static_cast<double>(weight[i]), 1e-5);
    }
  }
}

TEST_P(VectorFunctions, NormalizeByMeanAndVariance) {
  for (const size_t n : kLengths) {
    auto x = numbers(n);
    for (float& value : x) value += 3.0f;
    const auto weight = numbers(n);
    const auto bias = numbers(n);
    double mean = 0;
    for (const float value : x) mean += static_cast<double>(value) / static_cast<double>(n);
    double variance = 0;
    for (const float value : x) {
      variance += std::pow(static_cast<double>(value) - mean, 2) / static_cast<double>(n);
    }
    const std::vector<float> no_bias(n, 0.0f);
    for (const auto* added : {&bias, &no_bias}) {
      auto out = x;  // in place
      kernels().layer_norm(out.data(), weight.data(), added == &bias ? bias.data() : nullptr, 1e-3f,
                           n, out.data());
      for (size_t i = 0; i < n; ++i) {
        const double expected = static_cast<double>(weight[i]) *
                                    (static_cast<double>(x[i]) - mean) /
                                    std::sqrt(variance + 1e-3) +
                                static_cast<double>((*added)[i]);
        EXPECT_NEAR(out[i], expected, 1e-5);
      }
    }
  }
}

TEST_P(VectorFunctions, AddScaledRows) {
  for (const size_t n : kLengths) {
    const auto x = numbers(n);
    const auto y = numbers(n);
    auto out = x;
    kernels().add_scaled(out.data(), y.data(), -0.5f, n);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(out[i], x[i] - 0.5f * y[i], 1e-6f);
  }
}

TEST_P(VectorFunctions, MultiplyRows) {
  for (const size_t n : kLengths) {
    const auto x = numbers(n);
    const auto y = numbers(n);
    auto out = x;
    kernels().multiply(out.data(), y.data(), n);
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], x[i] * y[i]);
  }
}

TEST_P(VectorFunctions, SigmoidAndSiluAsDefined) {
  for (const size_t n : kLengths) {
    const auto x = numbers(n, 4.0f);
    const auto y = numbers(n, 4.0f);
    auto silu = x;
    auto product = x;
    kernels().silu(silu.data(), n);
    kernels().sigmoid_multiply(product.data(), y.data(), n);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(silu[i], x[i] / (1 + std::exp(-x[i])), 1e-5f);
      EXPECT_NEAR(product[i], x[i] / (1 + std::exp(-y[i])), 1e-5f);
    }
  }
}

double gelu(double x) {
  const double u = std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(u));
}

TEST_P(VectorFunctions, GeluAsDefined) {
  for (const size_t n : kLengths) {
    const auto x = numbers(n, 4.0f);
    const auto up = numbers(n);
    auto alone = x;
    auto gated = x;
    kernels().gelu(alone.data(), n);
    kernels().gelu_multiply(gated.data(), up.data(), n);
    for (size_t i = 0; i < n; ++i) {
      const double expected = gelu(static_cast<double>(x[i]));
      EXPECT_NEAR(alone[i], expected, 1e-6 * std::fabs(expected) + 1e-7) << x[i];
      const double factor = static_cast<double>(up[i]);
      EXPECT_NEAR(gated[i], expected * factor, 1e-6 * std::fabs(expected * factor) + 1e-7) << x[i];
    }
  }
}

TEST_P(VectorFunctions, ReluSquaredAsDefined) {
  for (const size_t n : kLengths) {
    const auto x = numbers(n, 4.0f);
    auto out = x;
    kernels().relu_squared(out.data(), n);
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], x[i] > 0 ? x[i] * x[i] : 0.0f) << x[i];
  }
}

TEST_P(VectorFunctions, XieluAsDefined) {
  for (const Xielu& shape : {Xielu{0.7f, 1.6f, 0.5f, -1e-6f}, Xielu{0.3f, 0.9f, 0.4f, -0.25f},
                             Xielu{1.1f, 0.2f, -0.3f, 0.5f}}) {
    for (const size_t n : kLengths) {
      auto x = numbers(n, 4.0f);
      if (n > 2) x[1] = 0.0f;
      auto out = x;
      kernels().xielu(out.data(), shape, n);
      for (size_t i = 0; i < n; ++i) {
        const auto at = static_cast<double>(x[i]);
        const auto limit = static_cast<double>(shape.limit);
        const double curve =
            at > 0 ? static_cast<double>(shape.positive) * at * at
                   : static_cast<double>(shape.negative) * (std::expm1(std::min(at, limit)) - at);
        const double expected = curve + static_cast<double>(shape.slope) * at;
        EXPECT_NEAR(out[i], expected, 1e-6 * std::fabs(expected) + 1e-6) << at;
      }
    }
  }
}

TEST_P(VectorFunctions, SoftcapAsDefined) {
  for (const size_t n : kLengths) {
    const auto x = numbers(n, 40.0f);
    auto out = x;
    kernels().softcap(out.data(), 30.0f, n);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(out[i], 30 * std::tanh(static_cast<double>(x[i]) / 30), 1e-5) << x[i];
    }
  }
}

TEST_P(VectorFunctions, GeluAndSoftcapSurviveExtremes) {
  const std::vector<float> x = {-1e30f, -200.0f, -30.0f, 0.0f, 30.0f, 200.0f, 1e30f, -0.0f};
  auto out = x;
  kernels().gelu(out.data(), out.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(out[i], std::max(x[i], 0.0f), 1e-7f) << x[i];
  out = x;
  kernels().softcap(out.data(), 10.0f, out.size());
  EXPECT_EQ(out.front(), -10.0f);
  EXPECT_EQ(out[6], 10.0f);
  EXPECT_EQ(out[3], 0.0f);
}

TEST_P(VectorFunctions, FindsTheLargestAndWhatIsNotFinite) {
  for (const size_t n : kLengths) {
    if (n == 0) continue;
    auto x = numbers(n, 50.0f);
    EXPECT_EQ(kernels().largest(x.data(), n), *std::max_element(x.begin(), x.end())) << n;
    for (float& number : x) number = -std::fabs(number) - 1.0f;
    EXPECT_EQ(kernels().largest(x.data(), n), *std::max_element(x.begin(), x.end())) << n;
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const size_t i : {size_t{0}, n / 2, n - 1}) {
        auto damaged = x;
        damaged[i] = bad;
        EXPECT_TRUE(std::isnan(kernels().largest(damaged.data(), n))) << n << " " << i;
      }
    }
  }
}

TEST_P(VectorFunctions, GateAsDefined) {
  for (const size_t n : kLengths) {
    const auto gate = numbers(n, 8.0f);
    const auto up = numbers(n);
    auto out = gate;
    kernels().silu_multiply(out.data(), up.data(), n);
    for (size_t i = 0; i < n; ++i) {
      const auto x = static_cast<double>(gate[i]);
      const double expected = x / (1 + std::exp(-x)) * static_cast<double>(up[i]);
      EXPECT_NEAR(out[i], expected, 1e-6 * std::fabs(expected) + 1e-9) << x;
    }
  }
}

TEST_P(VectorFunctions, GateSurvivesExtremes) {
  std::vector<float> gate = {-1e30f, -200.0f, -88.0f, 0.0f, 88.0f, 200.0f, 1e30f, -0.0f};
  const std::vector<float> up(gate.size(), 1.0f);
  kernels().silu_multiply(gate.data(), up.data(), gate.size());
  EXPECT_NEAR(gate[1], 0.0f, 1e-30f);
  EXPECT_EQ(gate[3], 0.0f);
  EXPECT_EQ(gate[4], 88.0f);
  EXPECT_EQ(gate[6], 1e30f);
  for (const float value : gate) EXPECT_TRUE(std::isfinite(value));
}

// The squares of such numbers overflow.
TEST_P(VectorFunctions, NormsWhoseMeanOverflowsAreNotNumbers) {
  for (const size_t n : kLengths) {
    auto x = numbers(n, 1e30f);
    const std::vector<float> ones(n, 1.0f);
    std::vector<float> out(n);
    kernels().rms_norm(x.data(), ones.data(), 1e-5f, n, out.data());
    for (const float value : out) EXPECT_TRUE(std::isnan(value));
    if (n == 1) continue;  // its variance is 0
    kernels().layer_norm(x.data(), ones.data(), nullptr, 1e-5f, n, out.data());
    for (const float value : out) EXPECT_TRUE(std::isnan(value));
  }
}

// A value that is not finite must not become a number, at any place of a vector.
TEST_P(VectorFunctions, WhatIsNotFiniteStaysVisible) {
  constexpr size_t kN = 37;
  const std::vector<float> ones(kN, 1.0f);
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (const size_t at : {0u, 7u, 16u, 36u}) {
      std::vector<float> x(kN, 0.5f);
      x[at] = bad;
      const auto stays = [&](const auto& f) {
        auto out = x;
        f(out.data());
        return !std::isfinite(out[at]);
      };
      const KernelSet& k = kernels();
      EXPECT_TRUE(stays([&](float* out) { k.gelu(out, kN); }));
      EXPECT_TRUE(stays([&](float* out) { k.relu_squared(out, kN); }));
      EXPECT_TRUE(stays([&](float* out) { k.xielu(out, {0.5f, 1.5f, 0.5f, -1e-6f}, kN); }));
      EXPECT_TRUE(stays([&](float* out) { k.gelu_multiply(out, ones.data(), kN); }));
      EXPECT_TRUE(stays([&](float* out) { k.silu_multiply(out, ones.data(), kN); }));
      EXPECT_TRUE(stays([&](float* out) { k.softcap(out, 30.0f, kN); }));
      EXPECT_TRUE(stays([&](float* out) { k.add_scaled(out, ones.data(), 1.0f, kN); }));
      EXPECT_TRUE(stays([&](float* out) { k.rms_norm(out, ones.data(), 1e-5f, kN, out); }));
      EXPECT_TRUE(
          stays([&](float* out) { k.layer_norm(out, ones.data(), nullptr, 1e-5f, kN, out); }));
      float largest = -INFINITY;
      float sum = 0;
      auto scores = x;
      k.softmax_part(scores.data(), kN, largest, sum);
      // The softmax of a score of -infinity is 0.
      EXPECT_EQ(std::isnan(sum), bad != -INFINITY);
    }
  }
}

TEST_P(VectorFunctions, RotationTurnsNeighbours) {
  std::vector<float> x = {1.0f, 0.0f, 3.0f, 4.0f};
  const float cosines[] = {0.0f, 0.6f};
  const float sines[] = {1.0f, 0.8f};
  kernels().rope_interleaved(x.data(), cosines, sines, 2);
  EXPECT_NEAR(x[0], 0.0f, 1e-6f);
  EXPECT_NEAR(x[1], 1.0f, 1e-6f);
  EXPECT_NEAR(x[2], 3.0f * 0.6f - 4.0f * 0.8f, 1e-6f);
  EXPECT_NEAR(x[3], 3.0f * 0.8f + 4.0f * 0.6f, 1e-6f);
}

TEST_P(VectorFunctions, RotationTurnsHalves) {
  std::vector<float> x = {1.0f, 3.0f, 0.0f, 4.0f};
  const float cosines[] = {0.0f, 0.6f};
  const float sines[] = {1.0f, 0.8f};
  kernels().rope_halves(x.data(), cosines, sines, 2);
  EXPECT_NEAR(x[0], 0.0f, 1e-6f);
  EXPECT_NEAR(x[2], 1.0f, 1e-6f);
  EXPECT_NEAR(x[1], 3.0f * 0.6f - 4.0f * 0.8f, 1e-6f);
  EXPECT_NEAR(x[3], 3.0f * 0.8f + 4.0f * 0.6f, 1e-6f);
}

TEST_P(VectorFunctions, RotateAsScalarDoes) {
  for (const size_t n_pairs : kLengths) {
    const auto x = numbers(2 * n_pairs + 3);  // the rest of the head stays as it is
    const auto angles = numbers(n_pairs);
    std::vector<float> cosines;
    std::vector<float> sines;
    for (const float angle : angles) {
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
    for (const auto rope : {&KernelSet::rope_interleaved, &KernelSet::rope_halves}) {
      auto expected = x;
      (scalar_kernels().*rope)(expected.data(), cosines.data(), sines.data(), n_pairs);
      auto out = x;
      (kernels().*rope)(out.data(), cosines.data(), sines.data(), n_pairs);
      for (size_t i = 0; i < out.size(); ++i) {
        EXPECT_NEAR(out[i], expected[i], 1e-6f) << n_pairs << " pairs, element " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EachKernelSet, each_set(), set_name);
INSTANTIATE_TEST_SUITE_P(Kernels, VectorFunctions, each_set(), set_name);

TEST(Kernels, AreFoundByName) {
  for (const KernelSet* kernels : available_kernels()) {
    EXPECT_EQ(find_kernels(kernels->name), kernels);
  }
  EXPECT_EQ(available_kernels().back(), &scalar_kernels());
  EXPECT_EQ(find_kernels("mmx"), nullptr);
  EXPECT_EQ(find_kernels(""), nullptr);
}

// Four rows of one block, with a two-byte scale, and codes in units of four bytes: the layout in
// packing.h's drawing.
TEST(Packing, InterleavesUnitsOfRows) {
  KernelSet kernels = scalar_kernels();
  kernels.matmul[dtype_index(DType::q4_0)].interleave = 4;
  std::vector<std::byte> rows(4 * sizeof(BlockQ4_0));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(i);
  const auto plain = rows;
  ASSERT_TRUE(pack_in_place({"w", DType::q4_0, {32, 4, 1, 1}, rows}, kernels).ok());
  const auto byte_of_row = [&](size_t row, size_t i) { return plain[row * sizeof(BlockQ4_0) + i]; };
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(rows[2 * row], byte_of_row(row, 0));
    EXPECT_EQ(rows[2 * row + 1], byte_of_row(row, 1));
    for (size_t unit = 0; unit < 4; ++unit) {
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(rows[8 + unit * 16 + row * 4 + i], byte_of_row(row, 2 + unit * 4 + i));
      }
    }
  }
}

}  // namespace
}  // namespace kinglet
