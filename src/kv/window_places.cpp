#include "kv/window_places.h"

#include <algorithm>

#include "kv/checkpoints.h"

namespace kinglet {

WindowPlaces::WindowPlaces(uint32_t window) : window_(window) {
  if (window > 0) checkpoints_.reserve(kMostCheckpoints + 1);
}

bool WindowPlaces::needs(uint32_t page, uint32_t size) const {
  const uint32_t begin = page * kWindowPage;
  const auto keeps = [&](uint32_t place) {
    return place != kNowhere && begin < place && begin >= first_kept(window_, place, kWindowSpare);
  };
  return keeps(size) || keeps(pinned_) ||
         std::any_of(checkpoints_.begin(), checkpoints_.end(), keeps);
}

void WindowPlaces::add_checkpoint(uint32_t size) {
  if (!is_window() || size == 0) return;
  if (!checkpoints_.empty() && checkpoints_.back() == size) return;
  checkpoints_.push_back(size);
  if (checkpoints_.size() > kMostCheckpoints) drop_checkpoint(size);
}

bool WindowPlaces::drop_checkpoint(uint32_t size) {
  if (checkpoints_.empty()) return false;
  const size_t least =
      least_missed(checkpoints_.size(), size, [&](size_t i) { return checkpoints_[i]; });
  checkpoints_.erase(checkpoints_.begin() + static_cast<ptrdiff_t>(least));
  return true;
}

void WindowPlaces::pin(uint32_t size) {
  if (is_window()) pinned_ = size;
}

void WindowPlaces::truncate(uint32_t n_positions) {
  while (!checkpoints_.empty() && checkpoints_.back() > n_positions) checkpoints_.pop_back();
  if (pinned_ != kNowhere && pinned_ > n_positions) unpin();
}

void WindowPlaces::clear() {
  checkpoints_.clear();
  unpin();
}

void WindowPlaces::copy_checkpoints(const WindowPlaces& other) {
  checkpoints_.insert(checkpoints_.end(), other.checkpoints_.begin(), other.checkpoints_.end());
}

}  // namespace kinglet
