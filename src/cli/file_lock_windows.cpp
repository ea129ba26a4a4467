#include <windows.h>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/paths.h"
#include "cli/file_lock.h"

namespace kinglet::cli {

struct FileLock::Held {
  HANDLE file;
};

// A file that is opened without sharing can be opened only once.
Result<FileLock> FileLock::take(const std::string& path, const std::function<bool()>& on_busy) {
  const std::string name = path + kSuffix;
  while (true) {
    const HANDLE file = CreateFileW(to_path(name).c_str(), GENERIC_WRITE, 0, nullptr, OPEN_ALWAYS,
                                    FILE_FLAG_DELETE_ON_CLOSE, nullptr);
    if (file != INVALID_HANDLE_VALUE) return FileLock(new Held{file});
    const DWORD error = GetLastError();
    // Access is denied to a file that is being deleted.
    const bool is_busy = error == ERROR_SHARING_VIOLATION ||
                         (error == ERROR_ACCESS_DENIED && std::filesystem::exists(to_path(name)));
    if (!is_busy) {
      return Error{ErrorCode::io, cat("cannot create ", in_quotes(name), ": error ", error)};
    }
    if (!on_busy()) {
      return Error{ErrorCode::io, cat("another process is writing ", in_quotes(path))};
    }
    Sleep(kWaitMilliseconds);
  }
}

void FileLock::Release::operator()(Held* held) const {
  CloseHandle(held->file);
  delete held;
}

}  // namespace kinglet::cli
