// What tells a server to end: SIGINT or SIGTERM; Ctrl-C or Ctrl-Break on Windows.
#pragma once

#include <chrono>
#include <memory>

namespace kinglet::server {

// They end nothing by themselves while it lives.
class StopSignals {
 public:
  virtual ~StopSignals() = default;

  // Whether one came within that time.
  virtual bool wait(std::chrono::milliseconds at_most) const = 0;
};

// For this thread and those that it begins. One at a time.
std::unique_ptr<StopSignals> take_stop_signals();

}  // namespace kinglet::server
