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

  // The time that the given share (0 to 1) of all times does not exceed. Assumes that times are
  // spread evenly within their bucket; the last bucket ends at the maximum.
  double percentile(double share) const;

 private:
  std::array<uint64_t, kBucketBegins.size()> buckets_{};
  uint64_t count_ = 0;
  double min_ = 0;
  double max_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared distances from the mean
};

}  // namespace kinglet
