#include <unistd.h>

#include "base/file_access.h"

namespace kinglet {

std::FILE* open_file(const std::string& path, const char* mode) {
  return std::fopen(path.c_str(), mode);
}

std::optional<uint64_t> file_size(std::FILE* file) {
  if (fseeko(file, 0, SEEK_END) != 0) return std::nullopt;
  const auto size = ftello(file);
  if (size < 0 || fseeko(file, 0, SEEK_SET) != 0) return std::nullopt;
  return static_cast<uint64_t>(size);
}

uint64_t file_position(std::FILE* file) { return static_cast<uint64_t>(ftello(file)); }

bool skip_in_file(std::FILE* file, uint64_t n_bytes) {
  return fseeko(file, static_cast<off_t>(n_bytes), SEEK_CUR) == 0;
}

std::optional<size_t> read_at(std::FILE* file, uint64_t offset, std::span<std::byte> bytes) {
  const auto n = pread(fileno(file), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (n < 0) return std::nullopt;
  return static_cast<size_t>(n);
}

}  // namespace kinglet
