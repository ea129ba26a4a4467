// A bar on standard error for what takes its time, where a terminal is there.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinglet::cli {

class ProgressBar {
 public:
  // `name`: what is under way, such as "Loading". Without a terminal nothing is ever shown.
  explicit ProgressBar(std::string_view name);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Shown once it has taken so long that someone waits, and then ten times a second.
  void update(uint64_t n_done, uint64_t n_total);
  // Takes it away again.
  void clear();

 private:
  std::string_view name_;
  bool is_visible_ = false;
  bool has_terminal_;
  double next_seconds_;  // when it is drawn again
};

}  // namespace kinglet::cli
