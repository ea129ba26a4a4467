#include "cli/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "base/printable.h"
#include "cli/terminal.h"

namespace kinglet::cli {

namespace {

constexpr double kDelaySeconds = 0.5;
constexpr double kIntervalSeconds = 0.1;
constexpr uint64_t kWidth = 30;

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

ProgressBar::ProgressBar(std::string_view name)
    : name_(name),
      has_terminal_(reports_to_terminal()),
      next_seconds_(seconds_now() + kDelaySeconds) {}

void ProgressBar::update(uint64_t n_done, uint64_t n_total) {
  if (!has_terminal_ || n_total == 0 || seconds_now() < next_seconds_) return;
  next_seconds_ = seconds_now() + kIntervalSeconds;
  is_visible_ = true;
  const double share = static_cast<double>(n_done) / static_cast<double>(n_total);
  const auto n_filled = std::min(kWidth, static_cast<uint64_t>(share * kWidth));
  const std::string bar = std::string(n_filled, '=') + std::string(kWidth - n_filled, ' ');
  std::fprintf(stderr, "\r%s [%s] %3.0f %%", printable(name_).c_str(), bar.c_str(), 100 * share);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (is_visible_) std::fputs("\r\x1b[K", stderr);
  is_visible_ = false;
}

}  // namespace kinglet::cli
