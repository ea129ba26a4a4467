// What standard C++ lacks for files: names in UTF-8 and sizes beyond 2 GiB on every system, and
// reads that threads may do at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace kinglet {

// std::fopen() of a path in UTF-8.
std::FILE* open_file(const std::string& path, const char* mode);

// The file's size in bytes, or nothing where it has none (a pipe). The next read is the first
// byte's.
std::optional<uint64_t> file_size(std::FILE* file);

// Where the next read is, in bytes.
uint64_t file_position(std::FILE* file);

// Passes over `n_bytes`. False where the file cannot.
bool skip_in_file(std::FILE* file, uint64_t n_bytes);

// Reads bytes at `offset`, up to all of `bytes`: how many, 0 at the end of the file. Nothing where
// it failed; errno tells why. Several threads may at a time. Windows moves the file's position:
// nobody may fread() any more.
std::optional<size_t> read_at(std::FILE* file, uint64_t offset, std::span<std::byte> bytes);

}  // namespace kinglet
