#include "cli/input.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/file_access.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/utf8.h"

namespace kinglet::cli {

namespace {

// More than any text that the program reads; without a limit, /dev/zero would take all memory.
constexpr size_t kMostBytes = size_t{1} << 30;

// Returns the bytes up to the end of a file, or one more than kMostBytes.
std::string read_all(std::FILE* file) {
  std::string text;
  char buffer[1 << 16];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, file)) {
    text.append(buffer, n);
    if (text.size() > kMostBytes) break;
  }
  return text;
}

}  // namespace

std::string read_input() { return read_all(stdin); }

std::optional<std::string> read_input_line() {
  std::string line;
  int c = std::getchar();
  if (c == EOF) return std::nullopt;
  for (; c != EOF && c != '\n'; c = std::getchar()) line += static_cast<char>(c);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

Result<std::string> read_file(const std::string& path) {
  std::FILE* file = open_file(path, "rb");
  if (file == nullptr) {
    const int reason = errno;
    return Error{ErrorCode::io, cat("cannot open ", path, ": ", std::strerror(reason))};
  }
  errno = 0;
  std::string text = read_all(file);
  const int reason = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (reason != 0) {
    return Error{ErrorCode::io, cat("cannot read ", path, ": ", std::strerror(reason))};
  }
  if (text.size() > kMostBytes) {
    return Error{ErrorCode::invalid_argument, cat(path, " has more than ", kMostBytes, " bytes")};
  }
  return text;
}

Result<std::string> read_text_file(const std::string& path) {
  KINGLET_ASSIGN(std::string text, read_file(path));
  KINGLET_TRY(check_utf8(cat("file ", in_quotes(path)), text));
  return text;
}

Result<std::string> read_filled_file(const std::string& path) {
  KINGLET_ASSIGN(std::string text, read_text_file(path));
  if (text.empty()) return Error{ErrorCode::invalid_argument, cat(path, " is empty")};
  return text;
}

Result<Json> read_json_file(const std::string& path) {
  // More levels than a schema may have: its compiler then says so in its own terms.
  constexpr size_t kMostLevels = 1000;
  KINGLET_ASSIGN(const std::string text, read_text_file(path));
  auto json = parse_json(text, {.depth = kMostLevels});
  if (json.ok()) return json;
  return Error{json.error().code, cat(path, ": ", json.error().message)};
}

std::vector<std::string_view> split_at_nul(std::string_view text) {
  std::vector<std::string_view> parts;
  do {
    const size_t end = std::min(text.find('\0'), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  } while (!text.empty());
  return parts;
}

Status check_utf8(std::string_view name, std::string_view text) {
  const size_t offset = find_ill_formed(text);
  if (offset == std::string_view::npos) return {};
  return Error{ErrorCode::invalid_argument,
               cat("the ", name, " is not valid UTF-8 at byte ", offset)};
}

}  // namespace kinglet::cli
