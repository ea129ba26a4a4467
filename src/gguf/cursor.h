// Reads a GGUF header from front to back. No read goes past the bytes that are there.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace kinglet {

static_assert(std::endian::native == std::endian::little,
              "files and machine must agree: values are copied as they stand");

// Returns the T at the front of `bytes`, which must hold at least sizeof(T). Needs no alignment.
template <class T>
T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Returns the bytes as characters.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Cursor {
 public:
  // `bytes` are the front of a file, `file_bytes` its size if known. Nothing after kMaxHeaderBytes
  // is read.
  Cursor(std::span<const std::byte> bytes, std::optional<uint64_t> file_bytes);

  // Sets what is being read, for messages: a kind ("tensor") and its name, if it has one.
  void set_subject(std::string_view kind, std::string_view name = {});

  // The number of bytes read so far, which is the position in the file.
  uint64_t offset() const { return offset_; }

  // The bytes read since `offset`.
  std::span<const std::byte> since(uint64_t offset) const;

  // The available bytes that have not been read yet.
  std::span<const std::byte> rest() const { return bytes_.subspan(offset_); }

  // Fails if fewer than `n` more bytes are there. `what` names what needs them: "the value".
  Status require(uint64_t n, std::string_view what);

  Result<std::span<const std::byte>> read_bytes(uint64_t n, std::string_view what);

  template <std::unsigned_integral T>
  Result<T> read(std::string_view what) {
    KINGLET_ASSIGN(const auto bytes, read_bytes(sizeof(T), what));
    return load<T>(bytes);
  }

  // Reads a u64 that must not be above `max`.
  Result<uint64_t> read_count(uint64_t max, std::string_view what);

  // Reads a string: a u64 length of at most `max_bytes`, then that many bytes.
  Result<std::string_view> read_string(uint64_t max_bytes, std::string_view what);

  // Skips `n` strings of at most `max_bytes` each.
  Status skip_strings(uint64_t n, uint64_t max_bytes, std::string_view what);

  // Makes an error with the message "tensor "name": message (byte offset)".
  Error error(ErrorCode code, uint64_t offset, std::string_view message) const;

  // After ErrorCode::truncated: how many bytes are needed to try again, or 0 if more bytes cannot
  // help.
  uint64_t needed() const { return needed_; }

 private:
  std::span<const std::byte> bytes_;
  std::optional<uint64_t> file_bytes_;
  std::string_view kind_;
  std::string_view name_;
  size_t offset_ = 0;
  uint64_t needed_ = 0;
};

}  // namespace kinglet
