#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "cli/terminal.h"

namespace kinglet::cli {

namespace {

constexpr uint32_t kInterrupted = 1;
std::atomic<uint32_t> interruption{0};
static_assert(std::atomic<uint32_t>::is_always_lock_free);  // a signal's handler writes it

// Has a byte for each interruption, to wake a thread that waits for input: a signal itself wakes
// only the thread that receives it.
std::array<int, 2> interrupt_pipe = {-1, -1};

extern "C" void on_interrupt(int) {
  const int error = errno;
  interruption.store(kInterrupted, std::memory_order_relaxed);
  [[maybe_unused]] const ssize_t n = write(interrupt_pipe[1], "", 1);
  errno = error;
}

}  // namespace

void prepare_streams() {}

bool reads_from_terminal() { return isatty(STDIN_FILENO) != 0; }
bool writes_to_terminal() { return isatty(STDOUT_FILENO) != 0; }
bool reports_to_terminal() { return isatty(STDERR_FILENO) != 0; }

void catch_interrupts() {
  if (pipe(interrupt_pipe.data()) != 0) interrupt_pipe = {-1, -1};
  for (const int end : interrupt_pipe) {
    fcntl(end, F_SETFL, O_NONBLOCK);
    fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  struct sigaction action = {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: the signal also ends a read of a line
  sigaction(SIGINT, &action, nullptr);
}

Cancellation next_interrupt() {
  std::array<char, 64> told;
  while (read(interrupt_pipe[0], told.data(), told.size()) > 0) {
  }
  interruption.store(0, std::memory_order_relaxed);
  return {&interruption, kInterrupted};
}

int interrupt_descriptor() { return interrupt_pipe[0]; }

}  // namespace kinglet::cli
