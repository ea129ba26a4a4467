// A lock between processes: at most one of them writes a file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace kinglet::cli {

// Held until it is destroyed. A process that ends gives up its locks, however it ends.
class FileLock {
 public:
  // Locks the file at `path` (UTF-8), which need not exist, by a file PATH.lock next to it. While
  // another process holds the lock, `on_busy` is called again and again: if it returns true, waits
  // for a moment; if false, gives up. Errors: io (given up, or PATH.lock cannot be created).
  static Result<FileLock> take(const std::string& path, const std::function<bool()>& on_busy);

  // How long take() waits between two calls of `on_busy`.
  static constexpr int kWaitMilliseconds = 100;
  static constexpr const char* kSuffix = ".lock";

 private:
  struct Held;
  struct Release {
    void operator()(Held* held) const;
  };

  explicit FileLock(Held* held) : held_(held) {}

  std::unique_ptr<Held, Release> held_;
};

}  // namespace kinglet::cli
