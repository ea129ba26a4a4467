// Which rows of a sequence with a window are kept.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/kv_plan.h"

namespace kinglet {

// A layer with a window sees only the last positions; all others could go. So that a sequence can
// go back, the rows that a token sees are also kept at some earlier places: at checkpoints, and at
// one place that is pinned. A place is remembered by its position only, because rows never change
// while a place after them is kept. `size` is the sequence's number of positions.
//
// Without a window all rows are kept, and these functions do nothing.
class WindowPlaces {
 public:
  explicit WindowPlaces(uint32_t window);

  uint32_t window() const { return window_; }  // 0: none
  bool is_window() const { return window_ > 0; }

  // Whether the end, the pinned place or a checkpoint needs rows of the page of kWindowPage
  // positions.
  bool needs(uint32_t page, uint32_t size) const;

  // Makes the end a checkpoint. If there are too many then, gives up the one that is missed least.
  void add_checkpoint(uint32_t size);

  // Gives up the checkpoint that is missed least. Returns whether there was one.
  bool drop_checkpoint(uint32_t size);

  void pin(uint32_t size);
  void unpin() { pinned_ = kNowhere; }

  // Forgets the places after n_positions, or all of them.
  void truncate(uint32_t n_positions);
  void clear();

  // Takes over the checkpoints of another sequence.
  void copy_checkpoints(const WindowPlaces& other);

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  uint32_t window_;
  uint32_t pinned_ = kNowhere;
  std::vector<uint32_t> checkpoints_;  // ascending
};

}  // namespace kinglet
