// The kernels of recurrent layers, compared with their definitions in doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel_support.h"

namespace kinglet {
namespace {

std::vector<float> other_numbers(size_t n, float scale = 1.0f) {
  static Random random;
  return numbers(n, random, scale);
}

class Recurrent : public testing::TestWithParam<const KernelSet*> {
 protected:
  static const KernelSet& kernels() { return *GetParam(); }
};

TEST_P(Recurrent, ConvolveAsDefined) {
  for (const size_t n : {1u, 3u, 16u, 31u, 67u, 576u}) {
    for (const size_t width : {1u, 3u, 4u, 7u}) {
      const auto taps = other_numbers(width * n);
      const auto bias = other_numbers(n);
      const auto x = other_numbers((width + 2) * n);
      std::vector<const float*> rows;
      for (size_t j = 0; j < width; ++j) rows.push_back(x.data() + (j + 1) * n);
      std::vector<float> out(n);
      for (const float* added : {bias.data(), static_cast<const float*>(nullptr)}) {
        kernels().convolve(rows.data(), taps.data(), added, width, n, out.data());
        for (size_t i = 0; i < n; ++i) {
          double expected = added == nullptr ? 0.0 : static_cast<double>(bias[i]);
          for (size_t j = 0; j < width; ++j) {
            expected += static_cast<double>(taps[j * n + i]) * static_cast<double>(rows[j][i]);
          }
          EXPECT_NEAR(out[i], expected, 1e-5);
        }
      }
    }
  }
}

// Inputs for `n_tokens` tokens of a recurrent head whose state has rows [n_rows][n_columns], and a
// kernel's outputs. The distance between rows is greater than their width.
struct HeadNumbers {
  static constexpr size_t kGap = 3;

  HeadNumbers(size_t tokens, size_t rows, size_t columns)
      : n_tokens(tokens),
        n_rows(rows),
        n_columns(columns),
        row_stride(std::max(rows, columns) + kGap),
        before(other_numbers(rows * columns)),
        by_column(other_numbers(tokens * row_stride, 0.3f)),
        more_by_column(other_numbers(tokens * row_stride, 0.3f)),
        by_row(other_numbers(tokens * row_stride)),
        decays(other_numbers(tokens * kGap, 0.5f)),
        steps(other_numbers(tokens * kGap, 0.5f)),
        behind(before.size()),
        output(tokens * row_stride) {
    for (float& decay : decays) decay = 0.3f + std::abs(decay);
  }

  DeltaRule delta_rule() {
    return {.from = before.data(),
            .to = behind.data(),
            .query = more_by_column.data(),
            .key = by_column.data(),
            .value = by_row.data(),
            .decay = decays.data(),
            .strength = steps.data(),
            .row_stride = row_stride,
            .gate_stride = kGap,
            .n_tokens = n_tokens,
            .n_keys = n_columns,
            .n_values = n_rows,
            .output = output.data(),
            .output_stride = row_stride};
  }
  StateSpace state_space() {
    return {.from = before.data(),
            .to = behind.data(),
            .x = by_row.data(),
            .input = by_column.data(),
            .readout = more_by_column.data(),
            .decay = decays.data(),
            .step = steps.data(),
            .skip = kSkip,
            .row_stride = row_stride,
            .gate_stride = kGap,
            .n_tokens = n_tokens,
            .n_channels = n_rows,
            .n_states = n_columns,
            .output = output.data(),
            .output_stride = row_stride};
  }

  // Expects the state and the outputs of the definition, in doubles. added(t, row, state) returns
  // the factor of the columns' numbers in by_column.
  template <class F>
  void expect_defined(float skip, const F& added) const {
    std::vector<double> state(before.begin(), before.end());
    for (size_t t = 0; t < n_tokens; ++t) {
      const float* columns = by_column.data() + t * row_stride;
      const float* reads = more_by_column.data() + t * row_stride;
      for (size_t row = 0; row < n_rows; ++row) {
        const std::span<double> line(state.data() + row * n_columns, n_columns);
        for (double& number : line) number *= static_cast<double>(decays[t * kGap]);
        const double factor = added(t, row, line);
        double expected = static_cast<double>(skip) * static_cast<double>(row_number(t, row));
        for (size_t i = 0; i < n_columns; ++i) {
          line[i] += factor * static_cast<double>(columns[i]);
          expected += line[i] * static_cast<double>(reads[i]);
        }
        EXPECT_NEAR(output[t * row_stride + row], expected, 5e-5);
      }
    }
    for (size_t i = 0; i < state.size(); ++i) EXPECT_NEAR(behind[i], state[i], 5e-5);
  }

  // Expects the same results from the kernel in place.
  template <class Head>
  void expect_same_in_place(void (*kernel)(const Head&), Head head) const {
    std::vector<float> in_place = before;
    std::vector<float> same(output.size());
    head.from = head.to = in_place.data();
    head.output = same.data();
    kernel(head);
    EXPECT_EQ(in_place, behind);
    EXPECT_EQ(same, output);
  }

  float row_number(size_t t, size_t row) const { return by_row[t * row_stride + row]; }
  float step(size_t t) const { return steps[t * kGap]; }

  static constexpr float kSkip = -0.5f;
  size_t n_tokens;
  size_t n_rows;
  size_t n_columns;
  size_t row_stride;
  std::vector<float> before;
  std::vector<float> by_column;
  std::vector<float> more_by_column;
  std::vector<float> by_row;
  std::vector<float> decays;
  std::vector<float> steps;
  std::vector<float> behind;
  std::vector<float> output;
};

template <class F>
void for_each_head_shape(const F& f) {
  for (const size_t n_columns : {1u, 5u, 16u, 24u, 67u, 128u}) {
    for (const size_t n_rows : {1u, 4u, 7u, 24u}) {
      for (const size_t n_tokens : {1u, 2u, 16u, 37u}) f(n_tokens, n_rows, n_columns);
    }
  }
}

TEST_P(Recurrent, LearnByTheDeltaRule) {
  for_each_head_shape([](size_t n_tokens, size_t n_rows, size_t n_columns) {
    HeadNumbers head(n_tokens, n_rows, n_columns);
    kernels().delta_rule(head.delta_rule());
    head.expect_defined(0.0f, [&](size_t t, size_t row, std::span<const double> decayed) {
      double known = 0;
      for (size_t i = 0; i < n_columns; ++i) {
        known += decayed[i] * static_cast<double>(head.by_column[t * head.row_stride + i]);
      }
      return static_cast<double>(head.step(t)) *
             (static_cast<double>(head.row_number(t, row)) - known);
    });
    head.expect_same_in_place(kernels().delta_rule, head.delta_rule());
  });
}

TEST_P(Recurrent, StepThroughAStateSpace) {
  for_each_head_shape([](size_t n_tokens, size_t n_rows, size_t n_columns) {
    HeadNumbers head(n_tokens, n_rows, n_columns);
    kernels().state_space(head.state_space());
    head.expect_defined(HeadNumbers::kSkip, [&](size_t t, size_t row, std::span<const double>) {
      return static_cast<double>(head.step(t)) * static_cast<double>(head.row_number(t, row));
    });
    head.expect_same_in_place(kernels().state_space, head.state_space());
  });
}

// The results do not depend on how the tokens are divided.
TEST_P(Recurrent, RecurrentHeadsTakeTokensAsTheyCome) {
  HeadNumbers head(37, 24, 67);
  kernels().delta_rule(head.delta_rule());
  const auto behind = head.behind;
  const auto output = head.output;
  DeltaRule part = head.delta_rule();
  part.n_tokens = 1;
  for (size_t t = 0; t < head.n_tokens; ++t) {
    kernels().delta_rule(part);
    part.from = part.to;
    part.query += part.row_stride;
    part.key += part.row_stride;
    part.value += part.row_stride;
    part.decay += part.gate_stride;
    part.strength += part.gate_stride;
    part.output += part.output_stride;
  }
  EXPECT_EQ(head.behind, behind);
  EXPECT_EQ(head.output, output);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Recurrent, each_set(), set_name);

}  // namespace
}  // namespace kinglet
