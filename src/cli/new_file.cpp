#include "cli/new_file.h"

#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "base/in_quotes.h"
#include "cli/paths.h"

namespace kinglet::cli {

namespace fs = std::filesystem;

Result<NewFile> NewFile::create(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(to_path(path), error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return NewFile(path);
  const fs::path resolved = fs::weakly_canonical(to_path(path), error);
  const std::string target = error ? path : to_utf8(resolved);
  KINGLET_ASSIGN(FileLock lock, FileLock::take(target, [] { return false; }));
  return NewFile(target + ".part", target, std::move(lock));
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

Status write_new_file(const std::string& path, std::span<const std::byte> bytes) {
  KINGLET_ASSIGN(NewFile written, NewFile::create(path));
  std::ofstream file(to_path(written.path()), std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return Error{ErrorCode::io, cat("cannot write ", in_quotes(path))};
  return written.keep();
}

}  // namespace kinglet::cli
