#include "model/rope.h"

#include <algorithm>
#include <cmath>

namespace kinglet {
namespace {

double frequency(double theta, uint32_t pair, uint32_t dim) {
  return std::pow(theta, -2.0 * pair / dim);
}

// The frequency of a pair before it is scaled.
double trained_frequency(const RopeConfig& config, uint32_t pair) {
  const auto theta = static_cast<double>(config.theta);
  if (!config.restarts_in_sections) return frequency(theta, pair, config.dim);
  const uint8_t axis = config.axis_of(pair);
  for (uint8_t i = 0; i < axis; ++i) pair -= config.sections[i];
  return frequency(theta, pair, 2 * config.sections[axis]);
}

// The index of the pair that makes `turns` full turns over the original context, not rounded.
double pair_of_turns(const RopeConfig& config, float turns) {
  constexpr double kTwoPi = 6.283185307179586;
  const double positions_per_turn =
      static_cast<double>(config.original_context) / static_cast<double>(turns);
  return config.dim * std::log(positions_per_turn / kTwoPi) /
         (2.0 * std::log(static_cast<double>(config.theta)));
}

// The share of each pair's frequency that is scaled: 0 for fast pairs, 1 for slow ones.
class YarnRamp {
 public:
  explicit YarnRamp(const RopeConfig& config)
      : first_(std::max(0.0, std::floor(pair_of_turns(config, config.yarn_beta_fast)))),
        last_(std::min(config.dim - 1.0, std::ceil(pair_of_turns(config, config.yarn_beta_slow)))) {
  }

  double operator()(uint32_t pair) const {
    return std::clamp((pair - first_) / std::max(0.001, last_ - first_), 0.0, 1.0);
  }

 private:
  double first_;
  double last_;
};

float yarn_length(const RopeConfig& config, float multiplier) {
  return config.factor > 1 ? 0.1f * multiplier * std::log(config.factor) + 1.0f : 1.0f;
}

}  // namespace

uint8_t RopeConfig::axis_of(uint32_t pair) const {
  if (!has_sections()) return 0;
  const uint32_t place = pair % (sections[0] + sections[1] + sections[2]);
  if (interleaves_sections) {
    const uint32_t axis = place % kRopeAxes;
    return place < kRopeAxes * sections[axis] ? static_cast<uint8_t>(axis) : uint8_t{0};
  }
  if (place < sections[0]) return 0;
  return place < sections[0] + sections[1] ? 1 : 2;
}

RopeTable RopeTable::scaled(const RopeConfig& config, const float* factors) {
  const auto scale = 1.0 / static_cast<double>(config.factor);
  const YarnRamp ramp(config);
  RopeTable table;
  table.magnitude = config.magnitude;
  if (config.yarn) {
    table.magnitude *= yarn_length(config, 1.0f) / yarn_length(config, config.yarn_log_multiplier);
  }
  for (uint32_t pair = 0; pair < config.dim / 2; ++pair) {
    double trained = trained_frequency(config, pair);
    if (factors != nullptr) trained /= static_cast<double>(factors[pair]);
    const double share = config.yarn ? ramp(pair) : 1.0;
    table.frequencies.push_back(trained * (scale * share + (1.0 - share)));
    table.axes.push_back(config.axis_of(pair));
  }
  return table;
}

RopeTable RopeTable::local(const RopeConfig& config) {
  RopeTable table;
  for (uint32_t pair = 0; pair < config.local_dim / 2; ++pair) {
    table.frequencies.push_back(
        frequency(static_cast<double>(config.local_theta), pair, config.local_dim));
    table.axes.push_back(config.axis_of(pair));
  }
  return table;
}

}  // namespace kinglet
