// Statistics of how long something takes, over many times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kinglet {

// Counts microseconds in the buckets [0, 100) [100, 500) [500, 1000) [1000, 5000) [5000, ∞).
// Not for use from several threads at once.
class LatencyHistogram {
 public:
  static constexpr std::array<double, 5> kBucketBegins = {0, 100, 500, 1000, 5000};

  void add(double microseconds);

  uint64_t count() const { return count_; }
  const std::array<uint64_t, kBucketBegins.size()>& buckets() const { return buckets_; }

  // All are 0 if nothing was added. The variance is that of the population.
  double min() const { return min_; }
  double max() const { return max_; }
  double mean() const { return mean_; }
  double variance() const;

  // The time that the given share (0 to 1) of all times does not exceed, between min() and max()
  // and less than an eighth too large, or a microsecond.
  double percentile(double share) const;

 private:
  // A power of two is divided into this many steps; below 1, each has an eighth of a microsecond.
  static constexpr size_t kSteps = 8;
  static constexpr size_t kPowers = 40;  // up to 12 days

  static size_t step_of(double microseconds);
  static double end_of_step(size_t step);

  std::array<uint64_t, kSteps*(1 + kPowers)> steps_{};
  std::array<uint64_t, kBucketBegins.size()> buckets_{};
  uint64_t count_ = 0;
  double min_ = 0;
  double max_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared distances from the mean
};

}  // namespace kinglet
