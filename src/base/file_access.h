// File functions that standard C++ lacks: names in UTF-8 and sizes beyond 2 GiB on every system,
// and reads by several threads at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace kinglet {

// Opens a path in UTF-8, as std::fopen() does.
std::FILE* open_file(const std::string& path, const char* mode);

// Returns the file's size in bytes, or nothing if it has none (a pipe). The next read begins at the
// first byte.
std::optional<uint64_t> file_size(std::FILE* file);

// Returns the position of the next read, in bytes.
uint64_t file_position(std::FILE* file);

// Skips `n_bytes`. Returns false if the file cannot do that.
bool skip_in_file(std::FILE* file, uint64_t n_bytes);

// Reads from `offset` on, at most all of `bytes`. Returns the number of bytes (0 at the end of the
// file), or nothing if it failed; errno says why. Several threads may call this at the same time.
// Do not use fread() on the file any more: Windows moves its position.
std::optional<size_t> read_at(std::FILE* file, uint64_t offset, std::span<std::byte> bytes);

}  // namespace kinglet
