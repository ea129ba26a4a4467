#include <windows.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "cli/line_editor.h"

namespace kinglet::cli {
namespace {

constexpr wchar_t kCtrlZ = 0x1A;

std::string to_utf8(std::wstring_view text) {
  const auto n_units = static_cast<int>(text.size());
  const auto convert = [&](char* to, int n) {
    return WideCharToMultiByte(CP_UTF8, 0, text.data(), n_units, to, n, nullptr, nullptr);
  };
  std::string out(static_cast<size_t>(convert(nullptr, 0)), '\0');
  convert(out.data(), static_cast<int>(out.size()));
  return out;
}

// The console itself edits lines and keeps their history. The editor reads UTF-16 characters,
// because bytes are correct in few code pages only.
class ConsoleLineEditor final : public LineEditor {
 public:
  std::optional<std::string> read(const char* prompt) override {
    std::fputs(prompt, stdout);
    std::fflush(stdout);
    HANDLE const console = GetStdHandle(STD_INPUT_HANDLE);
    std::wstring line;
    while (!line.ends_with(L'\n')) {
      std::array<wchar_t, 256> units = {};
      DWORD n = 0;
      SetLastError(ERROR_SUCCESS);
      const bool ok =
          ReadConsoleW(console, units.data(), static_cast<DWORD>(units.size()), &n, nullptr) != 0;
      if (GetLastError() == ERROR_OPERATION_ABORTED) {  // Ctrl-C
        std::fputc('\n', stdout);
        return "";
      }
      if (!ok || n == 0) return std::nullopt;
      line.append(units.data(), n);
    }
    if (line.starts_with(kCtrlZ)) return std::nullopt;
    std::erase(line, L'\r');
    line.pop_back();
    return to_utf8(line);
  }
};

}  // namespace

std::unique_ptr<LineEditor> open_line_editor() { return std::make_unique<ConsoleLineEditor>(); }

}  // namespace kinglet::cli
