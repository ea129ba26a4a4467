#include "cli/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "cli/line_editor.h"

namespace kinglet::cli {

namespace {

constexpr char kFence[] = "\"\"\"";

std::optional<std::string> read_plain_line() {
  std::string line;
  int c = std::getchar();
  if (c == EOF) return std::nullopt;
  for (; c != EOF && c != '\n'; c = std::getchar()) line += static_cast<char>(c);
  return line;
}

constexpr uint32_t kInterrupted = 1;
std::atomic<uint32_t> interruption{0};
static_assert(std::atomic<uint32_t>::is_always_lock_free);  // a signal's handler writes it

// Has a byte for each interruption, for those who wait for input: a signal wakes only the thread
// that takes it.
std::array<int, 2> interrupt_pipe = {-1, -1};

extern "C" void on_interrupt(int) {
  const int error = errno;
  interruption.store(kInterrupted, std::memory_order_relaxed);
  [[maybe_unused]] const ssize_t n = write(interrupt_pipe[1], "", 1);
  errno = error;
}

}  // namespace

bool reads_from_terminal() { return isatty(STDIN_FILENO) != 0; }
bool writes_to_terminal() { return isatty(STDOUT_FILENO) != 0; }
bool reports_to_terminal() { return isatty(STDERR_FILENO) != 0; }

MessageReader::MessageReader()
    : is_terminal_(reads_from_terminal()), editor_(is_terminal_ ? open_line_editor() : nullptr) {}

MessageReader::~MessageReader() = default;

std::optional<std::string> MessageReader::read_line(const char* prompt) {
  if (editor_ != nullptr) return editor_->read(prompt);
  if (is_terminal_) {
    std::fputs(prompt, stdout);
    std::fflush(stdout);
  }
  return read_plain_line();
}

std::optional<std::string> MessageReader::next() {
  auto line = read_line("> ");
  if (!line || !is_terminal_) return line;
  if (line->starts_with(kFence)) {
    std::string message = line->substr(std::size(kFence) - 1);
    for (auto more = read_line(". "); more; more = read_line(". ")) {
      if (!message.empty()) message += '\n';
      if (more->ends_with(kFence)) {
        more->resize(more->size() - (std::size(kFence) - 1));
        return message + *more;
      }
      message += *more;
    }
    return message;
  }
  while (line->ends_with('\\')) {
    line->back() = '\n';
    const auto more = read_line(". ");
    if (!more) break;
    *line += *more;
  }
  return line;
}

void catch_interrupts() {
  if (pipe(interrupt_pipe.data()) != 0) interrupt_pipe = {-1, -1};
  for (const int end : interrupt_pipe) {
    fcntl(end, F_SETFL, O_NONBLOCK);
    fcntl(end, F_SETFD, FD_CLOEXEC);
  }
  struct sigaction action = {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: reading a line ends, too
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
