// A progress bar on standard error, shown only at a terminal.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinglet::cli {

class ProgressBar {
 public:
  // `name` says what is in progress, such as "Loading". Without a terminal nothing is shown.
  explicit ProgressBar(std::string_view name);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws the bar, from half a second after construction, and at most ten times a second.
  void update(uint64_t n_done, uint64_t n_total);
  // Removes the bar from the terminal.
  void clear();

 private:
  std::string_view name_;
  bool is_visible_ = false;
  bool has_terminal_;
  double next_seconds_;  // when the bar may be drawn again
};

}  // namespace kinglet::cli
