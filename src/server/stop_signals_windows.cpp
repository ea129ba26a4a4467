#include <windows.h>

#include "server/stop_signals.h"

namespace kinglet::server {
namespace {

// An event that each signal sets and that a wait resets. The program has one, because its handlers
// belong to the whole program too.
HANDLE stop_event() {
  static HANDLE const event = CreateEventW(nullptr, /*bManualReset=*/FALSE, FALSE, nullptr);
  return event;
}

// Windows calls this on a thread of its own.
BOOL WINAPI on_stop(DWORD event) {
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) return FALSE;
  SetEvent(stop_event());
  return TRUE;
}

class ConsoleSignals final : public StopSignals {
 public:
  ConsoleSignals() { SetConsoleCtrlHandler(on_stop, TRUE); }
  ~ConsoleSignals() override { SetConsoleCtrlHandler(on_stop, FALSE); }
  ConsoleSignals(const ConsoleSignals&) = delete;
  ConsoleSignals& operator=(const ConsoleSignals&) = delete;

  bool wait(std::chrono::milliseconds at_most) const override {
    return WaitForSingleObject(stop_event(), static_cast<DWORD>(at_most.count())) == WAIT_OBJECT_0;
  }
};

}  // namespace

std::unique_ptr<StopSignals> take_stop_signals() { return std::make_unique<ConsoleSignals>(); }

}  // namespace kinglet::server
