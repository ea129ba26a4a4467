#include "tensor/kv_kind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <random>
#include <vector>

namespace kinglet {
namespace {

struct StoredRow {
  std::vector<std::byte> codes;
  std::vector<float> scales;
};

StoredRow store(KvKind kind, const std::vector<float>& row) {
  const KvKindInfo& info = kv_kind_info(kind);
  StoredRow stored{std::vector<std::byte>(static_cast<size_t>(info.code_bytes(row.size()))),
                   std::vector<float>(static_cast<size_t>(info.n_scales(row.size())))};
  info.write_row(row.data(), row.size(), stored.codes.data(), stored.scales.data());
  return stored;
}

std::vector<float> restore(KvKind kind, const StoredRow& stored, size_t head_dim) {
  std::vector<float> row(head_dim);
  kv_kind_info(kind).read_row(stored.codes.data(), stored.scales.data(), 0, head_dim, row.data());
  return row;
}

std::vector<float> round_trip(KvKind kind, const std::vector<float>& row) {
  return restore(kind, store(kind, row), row.size());
}

std::vector<float> random_row(size_t n, std::mt19937& random, float scale = 1.0f) {
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> row(n);
  for (float& x : row) x = normal(random);
  return row;
}

float largest(const std::vector<float>& row) {
  float result = 0;
  for (const float x : row) result = std::max(result, std::fabs(x));
  return result;
}

// A ramp from -1.6 to 1.5.
std::vector<float> ramp() {
  std::vector<float> row;
  for (int i = 0; i < 32; ++i) row.push_back(-1.6f + 0.1f * static_cast<float>(i));
  return row;
}

int code_at(const StoredRow& row, size_t i) { return static_cast<int8_t>(row.codes[i]); }

const KvKindInfo* each_kind[] = {
    find_kv_kind("f32"),      find_kv_kind("f16"), find_kv_kind("int8"), find_kv_kind("fp8_e4m3"),
    find_kv_kind("fp8_e5m2"), find_kv_kind("q8"),  find_kv_kind("q4")};

TEST(KvKind, IsFoundByName) {
  for (size_t i = 0; i < kNKvKinds; ++i) {
    ASSERT_NE(each_kind[i], nullptr);
    EXPECT_EQ(each_kind[i], &kv_kind_info(static_cast<KvKind>(i)));
    EXPECT_EQ(static_cast<size_t>(each_kind[i]->kind), i);
  }
  EXPECT_EQ(find_kv_kind("f33"), nullptr);
  EXPECT_EQ(find_kv_kind(""), nullptr);
  EXPECT_EQ(kv_kind_names(), "f32, f16, int8, fp8_e4m3, fp8_e5m2, q8, q4");
}

TEST(KvKind, TakesTheBytesOfItsLayout) {
  const auto bytes = [](KvKind kind, uint64_t d) { return kv_kind_info(kind).row_bytes(d); };
  for (const uint64_t d : {64u, 80u, 128u, 5u}) {
    EXPECT_EQ(bytes(KvKind::f32, d), 4 * d);
    EXPECT_EQ(bytes(KvKind::f16, d), 2 * d);
    EXPECT_EQ(bytes(KvKind::int8, d), d + 4);
    EXPECT_EQ(bytes(KvKind::fp8_e4m3, d), d + 4);
    EXPECT_EQ(bytes(KvKind::fp8_e5m2, d), d + 4);
  }
  // A block has 36 or 18 bytes; 80 elements take three blocks.
  EXPECT_EQ(bytes(KvKind::q8, 64), 2 * 36u);
  EXPECT_EQ(bytes(KvKind::q8, 80), 3 * 36u);
  EXPECT_EQ(bytes(KvKind::q4, 64), 2 * 18u);
  EXPECT_EQ(bytes(KvKind::q4, 80), 3 * 18u);
}

TEST(KvKind, F32IsExact) {
  std::mt19937 random(1);
  const auto row = random_row(67, random);
  EXPECT_EQ(round_trip(KvKind::f32, row), row);
}

TEST(KvKind, F16SaturatesInsteadOfOverflowing) {
  EXPECT_EQ(round_trip(KvKind::f16, {1e6f, -1e6f, 0.5f}),
            (std::vector<float>{65504.0f, -65504.0f, 0.5f}));
}

// Compares with the definition in double precision, except for values whose quotients are close to
// ties.
TEST(KvKind, Int8IsTheDefinition) {
  std::mt19937 random(2);
  for (const size_t n : {1u, 5u, 64u, 100u}) {
    for (int round = 0; round < 200; ++round) {
      const auto row =
          random_row(n, random, std::ldexp(1.0f, static_cast<int>(random() % 60) - 30));
      const StoredRow stored = store(KvKind::int8, row);
      EXPECT_EQ(stored.scales[0], largest(row) / 127.0f);
      for (size_t i = 0; i < n; ++i) {
        const double quotient = static_cast<double>(row[i]) / static_cast<double>(stored.scales[0]);
        const double distance_to_tie = std::fabs(std::fabs(quotient - std::trunc(quotient)) - 0.5);
        if (distance_to_tie > 1e-4) {
          EXPECT_EQ(code_at(stored, i), std::round(quotient));
        }
        EXPECT_GE(code_at(stored, i), -127);
      }
    }
  }
}

TEST(KvKind, Int8RoundsHalvesAwayFromZeroAndErrsByHalfACodeAtMost) {
  // The scale is exactly 1.
  const StoredRow ties = store(KvKind::int8, {127.0f, 0.5f, -0.5f, 1.5f, -2.5f, 0.49999997f});
  EXPECT_EQ(ties.scales[0], 1.0f);
  const int expected[] = {127, 1, -1, 2, -3, 0};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(code_at(ties, i), expected[i]) << i;

  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto row = random_row(64, random);
    const auto restored = round_trip(KvKind::int8, row);
    for (size_t i = 0; i < row.size(); ++i) {
      EXPECT_LE(std::fabs(restored[i] - row[i]), largest(row) / 254 * 1.00001f);
    }
  }
}

TEST(KvKind, Fp8StaysWithinItsPrecision) {
  std::mt19937 random(4);
  double total_error = 0;
  size_t n = 0;
  for (int round = 0; round < 200; ++round) {
    const auto row = random_row(64, random);
    const auto e4m3 = round_trip(KvKind::fp8_e4m3, row);
    const auto e5m2 = round_trip(KvKind::fp8_e5m2, row);
    for (size_t i = 0; i < row.size(); ++i) {
      EXPECT_LT(std::fabs(e4m3[i] - row[i]), 0.05f * largest(row));
      EXPECT_LT(std::fabs(e5m2[i] - row[i]), 0.3f * largest(row));
      total_error += static_cast<double>(std::fabs(e5m2[i] - row[i]) / largest(row));
      ++n;
    }
  }
  EXPECT_LT(total_error / static_cast<double>(n), 0.15);
}

// The quotient of the largest element and the scale may be a rounding error above the largest value
// of the format.
TEST(KvKind, Fp8KeepsTheLargestElementFinite) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto row = random_row(8, random);
    for (const KvKind kind : {KvKind::fp8_e4m3, KvKind::fp8_e5m2}) {
      const auto restored = round_trip(kind, row);
      EXPECT_NEAR(largest(restored), largest(row), 1e-6f * largest(row));
    }
  }
}

TEST(KvKind, TinyRowsAreNotLost) {
  for (const KvKind kind : {KvKind::int8, KvKind::fp8_e4m3, KvKind::fp8_e5m2}) {
    const std::vector<float> row = {4e-9f, -2e-9f, 0.0f};
    const auto restored = round_trip(kind, row);
    EXPECT_NEAR(restored[0], 4e-9f, 4e-11f);
    EXPECT_NEAR(restored[1], -2e-9f, 4e-11f);
    const auto zeros = round_trip(kind, {0.0f, 0.0f});
    EXPECT_EQ(zeros, (std::vector<float>{0.0f, 0.0f}));
    EXPECT_EQ(store(kind, {0.0f}).scales[0], FLT_MIN);
    // Below the smallest normal float, only a finite result is promised.
    for (const float x : round_trip(kind, {1e-42f, -1e-45f})) EXPECT_LE(std::fabs(x), 1e-38f);
  }
}

TEST(KvKind, HugeRowsStayFinite) {
  for (const KvKindInfo* info : each_kind) {
    for (const float x : round_trip(info->kind, {FLT_MAX, -FLT_MAX, 1.0f})) {
      EXPECT_TRUE(std::isfinite(x)) << info->name;
    }
  }
}

TEST(KvKind, BlocksErrByLittle) {
  const auto row = ramp();
  const auto q8 = round_trip(KvKind::q8, row);
  const auto q4 = round_trip(KvKind::q4, row);
  for (size_t i = 0; i < row.size(); ++i) {
    EXPECT_LT(std::fabs(q8[i] - row[i]), 0.02f);
    EXPECT_LT(std::fabs(q4[i] - row[i]), 0.3f);
  }
}

KvBlockQ4 q4_block(const StoredRow& stored, size_t i) {
  return reinterpret_cast<const KvBlockQ4*>(stored.codes.data())[i];
}

// 31 elements are less than a whole block, so they are not rotated.
TEST(KvKind, Q4PacksNeighboursIntoOneByte) {
  std::vector<float> row(31, 0.0f);
  row[0] = 8.0f;
  row[1] = -7.0f;
  row[2] = 2.0f;
  row[30] = -1.0f;
  const KvBlockQ4 block = q4_block(store(KvKind::q4, row), 0);
  EXPECT_EQ(to_float(block.scale), -1.0f);
  EXPECT_EQ(static_cast<int>(block.codes[0]), 0 | 15 << 4);
  EXPECT_EQ(static_cast<int>(block.codes[1]), 6 | 8 << 4);
  EXPECT_EQ(static_cast<int>(block.codes[2]), 8 | 8 << 4);
  EXPECT_EQ(static_cast<int>(block.codes[15]), 9 | 8 << 4);
  EXPECT_EQ(round_trip(KvKind::q4, row), row);
}

TEST(KvKind, Q4RotatesWholeBlocks) {
  std::mt19937 random(8);
  for (const size_t n : {1u, 31u, 32u, 63u, 80u, 128u}) {
    // Every code of each block, multiplied by a scale of its own.
    std::vector<float> turned(n);
    for (size_t i = 0; i < n; ++i) {
      const float scale = i / kKvBlock % 2 == 0 ? 0.25f : -3.0f;
      turned[i] = (static_cast<float>(i % 16) - 8.0f) * scale;
    }
    auto row = turned;
    rotate_blocks(row.data(), n);
    const size_t n_whole = n / kKvBlock * kKvBlock;
    for (size_t i = 0; i < n; ++i) {
      double expected = i < n_whole ? 0 : static_cast<double>(turned[i]);
      for (size_t j = 0; j < kKvBlock && i < n_whole; ++j) {
        const double sign = __builtin_parity(static_cast<unsigned>(i % kKvBlock & j)) ? -1 : 1;
        expected += sign * static_cast<double>(turned[i / kKvBlock * kKvBlock + j]) / std::sqrt(32);
      }
      EXPECT_NEAR(row[i], expected, 1e-5) << n << " " << i;
    }
    const auto restored = round_trip(KvKind::q4, row);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(restored[i], row[i], 1e-4f) << n << " " << i;
    rotate_blocks(row.data(), n);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(row[i], turned[i], 1e-5f) << n << " " << i;
  }
}

// Compares the squared error with that of Q4_0's scale: the largest element over -8.
TEST(KvKind, Q4ErrsLessThanTheScaleOfItsLargestElement) {
  std::mt19937 random(9);
  double error = 0;
  double error_of_largest = 0;
  for (int round = 0; round < 1000; ++round) {
    auto row = random_row(kKvBlock, random);
    const auto restored = round_trip(KvKind::q4, row);
    for (size_t i = 0; i < kKvBlock; ++i) {
      error += std::pow(static_cast<double>(restored[i] - row[i]), 2);
    }
    rotate_blocks(row.data(), row.size());
    const float scale = *std::max_element(row.begin(), row.end(), [](float a, float b) {
      return std::fabs(a) < std::fabs(b);
    }) / -8;
    for (const float x : row) {
      const float code = std::clamp(std::round(x / scale), -8.0f, 7.0f);
      error_of_largest += std::pow(static_cast<double>(code * scale - x), 2);
    }
  }
  EXPECT_LT(error, 0.95 * error_of_largest);
}

TEST(KvKind, Q4SaturatesAsF16Does) {
  std::vector<float> row(kKvBlock, 1e30f);
  for (const float x : round_trip(KvKind::q4, row)) EXPECT_NEAR(x, 65504.0f, 70.0f);
}

TEST(KvKind, BlocksScaleByThemselves) {
  std::vector<float> row(64, 1000.0f);
  std::fill_n(row.begin() + 32, 32, 0.001f);
  for (const KvKind kind : {KvKind::q8, KvKind::q4}) {
    const float precision = kind == KvKind::q8 ? 1e-6f : 1e-3f;  // relative to the scale
    const auto restored = round_trip(kind, row);
    for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(restored[i], row[i], precision * row[i]);
  }
}

TEST(KvKind, NearlyZeroBlocksArePositiveZero) {
  for (const KvKind kind : {KvKind::q8, KvKind::q4}) {
    const StoredRow stored = store(kind, std::vector<float>(40, -9e-11f));
    EXPECT_EQ(stored.scales, std::vector<float>(kind == KvKind::q8 ? 2 : 0, 0.0f));
    for (const float x : restore(kind, stored, 40)) {
      EXPECT_EQ(x, 0.0f);
      EXPECT_FALSE(std::signbit(x));
    }
  }
}

// Rows of 40 elements: the second block contains 8 elements, and 24 zeros that are never read.
TEST(KvKind, RowsFillTheirLastBlockWithZeros) {
  std::mt19937 random(6);
  const auto row = random_row(40, random);
  const StoredRow q8 = store(KvKind::q8, row);
  const StoredRow q4 = store(KvKind::q4, row);
  ASSERT_EQ(q8.codes.size(), 64u);
  ASSERT_EQ(q4.codes.size(), 36u);
  for (size_t i = 40; i < 64; ++i) EXPECT_EQ(code_at(q8, i), 0);
  for (size_t i = 4; i < 16; ++i) {
    EXPECT_EQ(static_cast<int>(q4_block(q4, 1).codes[i]), 8 | 8 << 4);
  }
}

// The former content of the memory does not matter.
TEST(KvKind, WritingARowForgetsTheOldOne) {
  std::mt19937 random(7);
  const auto row = random_row(40, random, 1e-3f);
  for (const KvKindInfo* info : each_kind) {
    StoredRow reused = store(info->kind, random_row(40, random, 1e3f));
    info->write_row(row.data(), row.size(), reused.codes.data(), reused.scales.data());
    const StoredRow fresh = store(info->kind, row);
    EXPECT_EQ(reused.codes, fresh.codes) << info->name;
    EXPECT_EQ(reused.scales, fresh.scales) << info->name;
  }
}

}  // namespace
}  // namespace kinglet
