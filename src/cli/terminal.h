// The person at the terminal: lines with history, and Ctrl-C.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/cancellation.h"
#include "cli/line_editor.h"

namespace kinglet::cli {

// To be called first: where a system tells text from bytes, the standard streams are bytes from now
// on, and a terminal takes UTF-8 and escape sequences.
void prepare_streams();

bool reads_from_terminal();  // standard input
bool writes_to_terminal();   // standard output
bool reports_to_terminal();  // standard error

// Reads messages of one or several lines. At a terminal lines can be edited, and those of earlier
// conversations come back with the arrow keys, where there is a line editor.
class MessageReader {
 public:
  MessageReader();
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // The next message; nullopt where input has ended. At a terminal a line that ends with a
  // backslash goes on in the next one, and so does everything between two """. Otherwise a line is
  // a message.
  std::optional<std::string> next();

 private:
  std::optional<std::string> read_line(const char* prompt);

  bool is_terminal_;
  std::unique_ptr<LineEditor> editor_;  // null: lines are read as they come
};

// From now on Ctrl-C ends what waits for it, and not the program.
void catch_interrupts();

// Requested once Ctrl-C is pressed after this call.
Cancellation next_interrupt();

// POSIX only: has something to read once Ctrl-C is pressed after that call; -1 where interrupts are
// not caught.
int interrupt_descriptor();

}  // namespace kinglet::cli
