#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/format.h"
#include "base/in_quotes.h"
#include "cli/file_lock.h"

namespace kinglet::cli {

struct FileLock::Held {
  std::string path;
  int file;
};

namespace {

// Whether the name still belongs to the file: its last holder may have deleted it.
bool is_same_file(int file, const std::string& path) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path, const std::function<bool()>& on_busy) {
  const std::string name = path + kSuffix;
  while (true) {
    const int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
      return Error{ErrorCode::io,
                   cat("cannot create ", in_quotes(name), ": ", std::strerror(errno))};
    }
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
      if (is_same_file(file, name)) return FileLock(new Held{name, file});
      close(file);
      continue;
    }
    const int error = errno;
    close(file);
    if (error != EWOULDBLOCK && error != EINTR) {
      return Error{ErrorCode::io, cat("cannot lock ", in_quotes(name), ": ", std::strerror(error))};
    }
    if (!on_busy()) {
      return Error{ErrorCode::io, cat("another process is writing ", in_quotes(path))};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kWaitMilliseconds));
  }
}

void FileLock::Release::operator()(Held* held) const {
  unlink(held->path.c_str());  // while it is still locked: nobody else can hold it
  close(held->file);
  delete held;
}

}  // namespace kinglet::cli
