// The signals that end a server: SIGINT or SIGTERM; Ctrl-C or Ctrl-Break on Windows.
#pragma once

#include <chrono>
#include <memory>

namespace kinglet::server {

// While the object exists, these signals do not end the process.
class StopSignals {
 public:
  virtual ~StopSignals() = default;

  // Waits for a signal. Returns whether one came within `at_most`.
  virtual bool wait(std::chrono::milliseconds at_most) const = 0;
};

// Takes the signals for this thread and the threads that it starts. Only one StopSignals may exist
// at a time.
std::unique_ptr<StopSignals> take_stop_signals();

}  // namespace kinglet::server
