#include "cli/new_file.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/paths.h"

namespace kinglet::cli {

namespace fs = std::filesystem;

Result<NewFile> NewFile::create(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(to_path(path), error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return NewFile(path);
  const fs::path resolved = fs::weakly_canonical(to_path(path), error);
  const std::string target = error ? path : to_utf8(resolved);
  KINGLET_ASSIGN(FileLock lock, FileLock::take(target, [] { return false; }));
  return NewFile(target + kSuffix, target, std::move(lock));
}

NewFile::~NewFile() {
  std::error_code error;
  if (!target_.empty()) fs::remove(to_path(path_), error);
}

Status NewFile::keep() {
  if (target_.empty()) return {};
  std::error_code error;
  fs::rename(to_path(path_), to_path(target_), error);
  if (error) {
    return Error{ErrorCode::io, cat("cannot write ", in_quotes(target_), ": ", error.message())};
  }
  target_.clear();
  return {};
}

Status check_output(const std::string& output, std::span<const std::string> inputs, bool replaces) {
  std::error_code missing;
  for (const std::string& input : inputs) {
    if (!fs::equivalent(to_path(input), to_path(output), missing)) continue;
    return Error{ErrorCode::invalid_argument, cat("the output, ", in_quotes(output),
                                                  ", is also the input: choose another name")};
  }
  if (replaces || !fs::is_regular_file(to_path(output), missing)) return {};
  return Error{ErrorCode::invalid_argument,
               cat("the output, ", in_quotes(output), ", already exists: replace it with --force")};
}

Status check_replaces_own(const std::string& path, std::string_view beginning) {
  constexpr size_t kReadBytes = 256;
  std::error_code missing;
  if (!fs::is_regular_file(to_path(path), missing)) return {};
  std::ifstream file(to_path(path), std::ios::binary);
  std::string start(kReadBytes, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  std::erase_if(start, [](unsigned char c) { return std::isspace(c) != 0; });
  if (start.empty() || start.starts_with(beginning)) return {};
  return Error{ErrorCode::invalid_argument,
               cat(in_quotes(path), " exists and is another kind of file: choose another name")};
}

Status write_new_file(const std::string& path, std::span<const std::byte> bytes) {
  KINGLET_ASSIGN(NewFile written, NewFile::create(path));
  errno = 0;
  std::ofstream file(to_path(written.path()), std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    return Error{ErrorCode::io, cat("cannot write ", in_quotes(path), ": ",
                                    std::strerror(errno == 0 ? EIO : errno))};
  }
  return written.keep();
}

}  // namespace kinglet::cli
