#include "session/candidates.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/bit_cast.h"

namespace kinglet {
namespace {

// The vocabulary is searched in blocks. A block is skipped if its largest weight is not better than
// the worst candidate.
constexpr size_t kBlock = 64;

// Weights in [0, 1] are put in buckets by their exponent and three more bits. The bit patterns of
// such floats have the same order as the floats.
constexpr uint32_t kBucketShift = 20;
constexpr size_t kBuckets = (0x3f800000u >> kBucketShift) + 1;

size_t bucket_of(float weight) { return bit_cast<uint32_t>(weight) >> kBucketShift; }

}  // namespace

TokenId best_token(const KernelSet& kernels, std::span<const float> weights) {
  const float largest = kernels.largest(weights.data(), weights.size());
  return static_cast<TokenId>(std::find(weights.begin(), weights.end(), largest) - weights.begin());
}

// `out` is a heap of the best candidates so far, with the worst of them on top.
void find_best(const KernelSet& kernels, std::span<const float> weights, size_t k,
               std::vector<Candidate>& out) {
  out.clear();
  for (size_t begin = 0; begin < weights.size(); begin += kBlock) {
    const size_t n = std::min(kBlock, weights.size() - begin);
    const bool full = out.size() == k;
    if (full && !(kernels.largest(&weights[begin], n) > out.front().weight)) continue;
    for (size_t i = begin; i < begin + n; ++i) {
      const Candidate candidate{weights[i], static_cast<TokenId>(i)};
      if (out.size() == k && !kBetter(candidate, out.front())) continue;
      if (out.size() == k) {
        std::pop_heap(out.begin(), out.end(), kBetter);
        out.pop_back();
      }
      out.push_back(candidate);
      std::push_heap(out.begin(), out.end(), kBetter);
    }
  }
  std::sort_heap(out.begin(), out.end(), kBetter);
}

// Only the bucket in which the sum is reached is sorted. All steps have a fixed order, so that the
// sums, and the order of the remaining candidates, are the same on every platform.
void keep_fewest(double enough, std::vector<Candidate>& candidates) {
  std::array<double, kBuckets> sums{};
  for (const Candidate& candidate : candidates) {
    sums[bucket_of(candidate.weight)] += static_cast<double>(candidate.weight);
  }
  size_t last = kBuckets - 1;
  double sum = 0;
  // Goes on if nothing is kept yet: `enough` may be 0.
  while (last > 0 && (sum + sums[last] < enough || sum + sums[last] == 0)) sum += sums[last--];

  size_t n_kept = 0;
  for (Candidate& candidate : candidates) {
    if (bucket_of(candidate.weight) > last) std::swap(candidates[n_kept++], candidate);
  }
  size_t end = n_kept;
  for (size_t i = n_kept; i < candidates.size(); ++i) {
    if (bucket_of(candidates[i].weight) == last) std::swap(candidates[end++], candidates[i]);
  }
  const auto bucket = candidates.begin() + static_cast<ptrdiff_t>(n_kept);
  const auto bucket_end = candidates.begin() + static_cast<ptrdiff_t>(end);
  std::make_heap(bucket, bucket_end, kBetter);
  std::sort_heap(bucket, bucket_end, kBetter);
  while (n_kept < end && (n_kept == 0 || sum < enough)) {
    sum += static_cast<double>(candidates[n_kept++].weight);
  }
  candidates.resize(n_kept);
}

}  // namespace kinglet
