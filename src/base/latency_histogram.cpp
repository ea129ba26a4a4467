#include "base/latency_histogram.h"

#include <algorithm>

namespace kinglet {

// Updates mean and squares with the method of Welford (1962), which avoids cancellation.
void LatencyHistogram::add(double microseconds) {
  const auto after = std::upper_bound(kBucketBegins.begin(), kBucketBegins.end(), microseconds);
  const auto bucket = std::max<ptrdiff_t>(after - kBucketBegins.begin() - 1, 0);
  ++buckets_[static_cast<size_t>(bucket)];
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

double LatencyHistogram::percentile(double share) const {
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(count_);
  double n_before = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const auto n = static_cast<double>(buckets_[i]);
    if (n > 0 && rank <= n_before + n) {
      const bool is_last = i + 1 == buckets_.size();
      const double end = is_last ? max_ : kBucketBegins[i + 1];
      return kBucketBegins[i] + (end - kBucketBegins[i]) * (rank - n_before) / n;
    }
    n_before += n;
  }
  return 0;
}

}  // namespace kinglet
