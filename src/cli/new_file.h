// A file that is written next to its place and moved there when it is complete. What was there
// before stays until then, whatever goes wrong.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cli/file_lock.h"

namespace kinglet::cli {

class NewFile {
 public:
  // `path` is UTF-8. A symbolic link keeps its target's name; a device or a pipe is written as it
  // is. Errors: io (another process writes the same file, or the folder cannot be written).
  static Result<NewFile> create(const std::string& path);

  // Behind the name of the file while it is written.
  static constexpr const char* kSuffix = ".part";

  NewFile(NewFile&&) = default;
  ~NewFile();  // deletes what was written, unless keep() succeeded

  const std::string& path() const { return path_; }  // where to write it, in UTF-8

  // Moves the file to its place. Call it after the file is closed. Errors: io.
  Status keep();

 private:
  NewFile(std::string path, std::string target, FileLock lock)
      : path_(std::move(path)), target_(std::move(target)), lock_(std::move(lock)) {}
  explicit NewFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::string target_;  // empty: `path_` is the place
  std::optional<FileLock> lock_;
};

// Refuses to write one of the files that are read, by whatever name: it would be lost if the result
// is not what was wanted. Refuses to replace any other file unless that was asked for. Errors:
// invalid_argument.
Status check_output(const std::string& output, std::span<const std::string> inputs, bool replaces);

// Refuses to replace a file that does not begin as the caller's own files do; `beginning` has no
// white space, and that of the file does not count. Errors: invalid_argument.
Status check_replaces_own(const std::string& path, std::string_view beginning);

// Writes a file as a NewFile. Errors: io.
Status write_new_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace kinglet::cli
