// Reads lines that are edited at a terminal, and keeps their history.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace kinglet::cli {

class LineEditor {
 public:
  virtual ~LineEditor() = default;

  // Returns the next line without its newline, or nullopt if the input has ended. Ctrl-C gives up
  // the line: the result is then empty.
  virtual std::optional<std::string> read(const char* prompt) = 0;
};

// Returns null if there is no editor: the program was built without libedit, not for Windows.
std::unique_ptr<LineEditor> open_line_editor();

}  // namespace kinglet::cli
