// How many tokens of a prompt to compute together, so that what waits for the batch does not wait
// long.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kinglet {

class BatchPace {
 public:
  // `seconds`: how long a batch may take; 0: any time. `largest`: the most tokens of a batch.
  BatchPace(double seconds, uint32_t largest)
      : seconds_(seconds),
        largest_(largest),
        size_(seconds > 0 ? std::min(kFirst, largest) : largest) {}

  uint32_t size() const { return size_; }

  // Records the tokens and the time of the last batch.
  void took(uint32_t n_tokens, double seconds) {
    if (seconds_ <= 0) return;
    const double n_wanted = seconds > 0 ? n_tokens * seconds_ / seconds : largest_;
    size_ = static_cast<uint32_t>(std::min<double>(std::max(n_wanted, kSmallest), largest_));
  }

 private:
  static constexpr uint32_t kFirst = 16;
  static constexpr double kSmallest = 8;  // with fewer, the weights would be read too often

  double seconds_;
  uint32_t largest_;
  uint32_t size_;
};

}  // namespace kinglet
