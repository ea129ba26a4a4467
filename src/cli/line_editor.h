// Lines that are edited at a terminal, and the history of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace kinglet::cli {

class LineEditor {
 public:
  virtual ~LineEditor() = default;

  // The next line, without its newline; nullopt where input has ended. Ctrl-C gives up a line: the
  // next one is then empty.
  virtual std::optional<std::string> read(const char* prompt) = 0;
};

// Null where there is none: the program was built without libedit, not for Windows.
std::unique_ptr<LineEditor> open_line_editor();

}  // namespace kinglet::cli
