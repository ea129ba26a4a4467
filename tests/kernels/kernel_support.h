// What the tests of kernels share.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "support.h"

namespace kinglet {

using Random = std::mt19937;

// Numbers of a normal distribution.
inline std::vector<float> numbers(size_t n, Random& random, float scale = 1.0f) {
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> x(n);
  for (float& value : x) value = normal(random);
  return x;
}

// The kernel sets of this machine as parameters of tests, which are named after them.
inline auto each_set() {
  return testing::ValuesIn(available_kernels().begin(), available_kernels().end());
}
inline std::string set_name(const testing::TestParamInfo<const KernelSet*>& info) {
  return test_name(std::string(info.param->name));
}

}  // namespace kinglet
