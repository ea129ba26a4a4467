// The terminal: reads lines with a history, and catches Ctrl-C.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/cancellation.h"
#include "cli/line_editor.h"

namespace kinglet::cli {

// Must be called first. On Windows, which treats text and binary streams differently, switches the
// standard streams to binary, and the console to UTF-8 and escape sequences.
void prepare_streams();

bool reads_from_terminal();  // standard input
bool writes_to_terminal();   // standard output
bool reports_to_terminal();  // standard error

// Returns text of others as it is written to standard output: printable() at a terminal, and
// unchanged in a file or a pipe.
std::string shown(std::string_view text);

// Writes text of others to standard output at once.
void show(std::string_view text);

// Prints a message such as an error to standard error, after the program's name. It may contain
// text of others.
void report(std::string_view message);

// Reads messages of one or several lines. At a terminal with a line editor, lines can be edited,
// and the arrow keys bring back earlier lines.
class MessageReader {
 public:
  MessageReader();
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // Returns the next message, or nullopt if the input has ended. A line is a message, but at a
  // terminal a line that ends with a backslash continues on the next line, and all lines between
  // two """ are one message.
  std::optional<std::string> next();

 private:
  std::optional<std::string> read_line(const char* prompt);

  bool is_terminal_;
  std::unique_ptr<LineEditor> editor_;  // null: lines are read without editing
};

// After this call, Ctrl-C does not end the program, but requests next_interrupt()'s cancellation.
void catch_interrupts();

// Returns a cancellation that is requested when Ctrl-C is pressed after this call.
Cancellation next_interrupt();

// POSIX only: returns a descriptor that is readable when Ctrl-C was pressed after next_interrupt()
// was called; -1 if interrupts are not caught.
int interrupt_descriptor();

}  // namespace kinglet::cli
