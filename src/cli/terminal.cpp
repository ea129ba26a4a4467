#include "cli/terminal.h"

#include <cstdio>
#include <iterator>

#include "base/printable.h"
#include "cli/input.h"
#include "cli/line_editor.h"

namespace kinglet::cli {

namespace {

constexpr char kFence[] = "\"\"\"";

}  // namespace

std::string shown(std::string_view text) {
  return writes_to_terminal() ? printable(text, Lines::kept) : std::string(text);
}

void show(std::string_view text) {
  const std::string written = shown(text);
  std::fwrite(written.data(), 1, written.size(), stdout);
  std::fflush(stdout);
}

void report(std::string_view message) {
  std::fprintf(stderr, "kinglet: %s\n", printable(message, Lines::kept).c_str());
}

MessageReader::MessageReader()
    : is_terminal_(reads_from_terminal()), editor_(is_terminal_ ? open_line_editor() : nullptr) {}

MessageReader::~MessageReader() = default;

std::optional<std::string> MessageReader::read_line(const char* prompt) {
  if (editor_ != nullptr) return editor_->read(prompt);
  if (is_terminal_) {
    std::fputs(prompt, stdout);
    std::fflush(stdout);
  }
  return read_input_line();
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

}  // namespace kinglet::cli
