#include <pthread.h>
#include <signal.h>

#include "server/stop_signals.h"

namespace kinglet::server {
namespace {

// Blocks the signals in this thread and those that it starts, so that wait() receives them.
class BlockedSignals final : public StopSignals {
 public:
  BlockedSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~BlockedSignals() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  bool wait(std::chrono::milliseconds at_most) const override {
    const timespec time{.tv_sec = at_most.count() / 1000,
                        .tv_nsec = at_most.count() % 1000 * 1'000'000};
    return sigtimedwait(&signals_, nullptr, &time) > 0;
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

}  // namespace

std::unique_ptr<StopSignals> take_stop_signals() { return std::make_unique<BlockedSignals>(); }

}  // namespace kinglet::server
