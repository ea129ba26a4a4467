#include "session/dry.h"

#include <algorithm>
#include <utility>

#include "session/candidates.h"

namespace kinglet {

std::optional<Dry> Dry::create(const SamplerOptions& options, uint32_t n_ctx, uint32_t vocab_size,
                               Pieces pieces) {
  const int32_t last_n = options.dry_penalty_last_n;
  const size_t n_window = last_n < 0 ? n_ctx : std::min(static_cast<uint32_t>(last_n), n_ctx);
  if (options.dry_multiplier == 0.0f || n_window == 0) return std::nullopt;
  return Dry(options, n_window, vocab_size, std::move(pieces));
}

Dry::Dry(const SamplerOptions& options, size_t n_window, uint32_t vocab_size, Pieces pieces)
    : multiplier_(options.dry_multiplier),
      base_(options.dry_base),
      allowed_length_(static_cast<uint32_t>(options.dry_allowed_length)),
      n_window_(n_window),
      breakers_(options.dry_sequence_breakers),
      pieces_(std::move(pieces)),
      lengths_(n_window),
      longest_(vocab_size) {
  tokens_.reserve(2 * n_window);
  for (const std::string& breaker : breakers_) {
    n_kept_bytes_ = std::max(n_kept_bytes_, breaker.size() - 1);
  }
}

void Dry::accept(TokenId token) {
  if (token < 0) return;
  if (tokens_.size() == 2 * n_window_) {
    tokens_.erase(tokens_.begin(), tokens_.end() - static_cast<ptrdiff_t>(n_window_));
  }
  tokens_.push_back(token);
  const size_t n_before = text_.size();
  text_ += pieces_(token);
  // Only a breaker that ends in this token's text is new.
  const bool ends_breaker =
      std::any_of(breakers_.begin(), breakers_.end(), [&](const std::string& breaker) {
        const size_t n_inside = std::min(n_before, breaker.size() - 1);
        return text_.find(breaker, n_before - n_inside) != std::string::npos;
      });
  n_since_breaker_ = ends_breaker ? 0 : n_since_breaker_ + 1;
  if (text_.size() > n_kept_bytes_) text_.erase(0, text_.size() - n_kept_bytes_);
}

void Dry::penalize(std::span<float> logits) {
  const size_t n = std::min(n_window_, tokens_.size());
  const auto most = static_cast<uint32_t>(std::min(n, size_t{n_since_breaker_}));
  if (n <= allowed_length_ || most < allowed_length_) return;
  measure_repetitions(n, most);
  for (size_t i = 1; i < n; ++i) {
    if (lengths_[i] < allowed_length_) continue;
    uint32_t& longest = longest_[static_cast<size_t>(from_end(i - 1))];
    longest = std::max(longest, lengths_[i] + 1);
  }
  for (size_t i = 1; i < n; ++i) {
    const TokenId token = from_end(i - 1);
    const uint32_t longest = std::exchange(longest_[static_cast<size_t>(token)], 0);
    if (longest == 0 || breaks(token)) continue;
    float& logit = logits[static_cast<size_t>(token)];
    logit = std::max(logit - penalty(longest - 1), -kLargestLogit);
  }
}

bool Dry::breaks(TokenId token) const {
  const std::string_view piece = pieces_(token);
  return std::any_of(breakers_.begin(), breakers_.end(), [&](const std::string& breaker) {
    return piece.find(breaker) != std::string_view::npos;
  });
}

// lengths_[i] = how many of the last tokens, `most` at most, are also the last ones before the last
// i tokens. This is the Z algorithm, on the tokens in reverse order: [begin, end) is the repetition
// found so far that reaches furthest, and within it the lengths are known from its copy at 0.
void Dry::measure_repetitions(size_t n_window, uint32_t most) {
  size_t begin = 0;
  size_t end = 0;
  for (size_t i = 1; i < n_window; ++i) {
    size_t n = i < end ? std::min(size_t{lengths_[i - begin]}, end - i) : 0;
    while (n < most && i + n < n_window && from_end(n) == from_end(i + n)) ++n;
    lengths_[i] = static_cast<uint32_t>(n);
    if (i + n > end) {
      begin = i;
      end = i + n;
    }
  }
}

float Dry::penalty(uint32_t n_repeated) const {
  // By squaring: pow() does not give the same on every platform. A large power becomes infinite.
  double power = 1;
  double square = base_;
  for (uint32_t n = n_repeated - allowed_length_; n > 0; n /= 2, square *= square) {
    if (n % 2 == 1) power *= square;
  }
  return static_cast<float>(std::min(multiplier_ * power, double{kLargestLogit}));
}

}  // namespace kinglet
