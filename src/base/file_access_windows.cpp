#include <io.h>
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/file_access.h"

namespace kinglet {
namespace {

HANDLE handle_of(std::FILE* file) {
  return reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(file)));
}

// Returns an empty string if the text is not UTF-8; no file has an empty name.
std::wstring to_utf16(std::string_view text) {
  const auto n_bytes = static_cast<int>(text.size());
  const auto convert = [&](wchar_t* to, int n) {
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), n_bytes, to, n);
  };
  std::wstring out(static_cast<size_t>(convert(nullptr, 0)), L'\0');
  convert(out.data(), static_cast<int>(out.size()));
  return out;
}

}  // namespace

std::FILE* open_file(const std::string& path, const char* mode) {
  return _wfopen(to_utf16(path).c_str(), to_utf16(mode).c_str());
}

std::optional<uint64_t> file_size(std::FILE* file) {
  LARGE_INTEGER size = {};
  // Asking a pipe for its position succeeds, but the answer is meaningless.
  if (GetFileType(handle_of(file)) != FILE_TYPE_DISK) return std::nullopt;
  if (GetFileSizeEx(handle_of(file), &size) == 0 || _fseeki64(file, 0, SEEK_SET) != 0) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(size.QuadPart);
}

uint64_t file_position(std::FILE* file) { return static_cast<uint64_t>(_ftelli64(file)); }

bool skip_in_file(std::FILE* file, uint64_t n_bytes) {
  return _fseeki64(file, static_cast<int64_t>(n_bytes), SEEK_CUR) == 0;
}

std::optional<size_t> read_at(std::FILE* file, uint64_t offset, std::span<std::byte> bytes) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;  // the system counts in 32 bits
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD n = 0;
  if (ReadFile(handle_of(file), bytes.data(),
               static_cast<DWORD>(std::min(bytes.size(), kMostAtOnce)), &n, &place) == 0 &&
      GetLastError() != ERROR_HANDLE_EOF) {
    errno = EIO;
    return std::nullopt;
  }
  return n;
}

}  // namespace kinglet
