#include "base/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace kinglet {

// Updates mean and squares with the method of Welford (1962), which avoids cancellation.
void LatencyHistogram::add(double microseconds) {
  const auto after = std::upper_bound(kBucketBegins.begin(), kBucketBegins.end(), microseconds);
  const auto bucket = std::max<ptrdiff_t>(after - kBucketBegins.begin() - 1, 0);
  ++buckets_[static_cast<size_t>(bucket)];
  ++steps_[step_of(microseconds)];
  min_ = count_ == 0 ? microseconds : std::min(min_, microseconds);
  max_ = count_ == 0 ? microseconds : std::max(max_, microseconds);
  ++count_;
  const double distance = microseconds - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (microseconds - mean_);
}

double LatencyHistogram::variance() const {
  return count_ == 0 ? 0.0 : std::max(squares_ / static_cast<double>(count_), 0.0);
}

size_t LatencyHistogram::step_of(double microseconds) {
  if (!(microseconds >= 1)) return static_cast<size_t>(std::max(microseconds, 0.0) * kSteps);
  int exponent = 0;  // microseconds = fraction * 2^exponent, with a fraction from 0.5 to 1
  const double fraction = std::frexp(microseconds, &exponent);
  const auto power = static_cast<size_t>(exponent - 1);
  if (power >= kPowers) return kSteps * (1 + kPowers) - 1;
  return kSteps * (1 + power) + static_cast<size_t>((2 * fraction - 1) * kSteps);
}

double LatencyHistogram::end_of_step(size_t step) {
  const double end = static_cast<double>(step % kSteps + 1) / kSteps;
  return step < kSteps ? end : std::ldexp(1 + end, static_cast<int>(step / kSteps) - 1);
}

double LatencyHistogram::percentile(double share) const {
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(count_);
  double n = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    n += static_cast<double>(steps_[i]);
    if (n > 0 && rank <= n) return std::clamp(end_of_step(i), min_, max_);
  }
  return max_;
}

}  // namespace kinglet
