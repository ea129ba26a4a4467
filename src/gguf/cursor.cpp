#include "gguf/cursor.h"

#include <algorithm>

#include "base/checked.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "gguf/header.h"

namespace kinglet {

Cursor::Cursor(std::span<const std::byte> bytes, std::optional<uint64_t> file_bytes)
    : file_bytes_(file_bytes) {
  const uint64_t limit = std::min(kMaxHeaderBytes, file_bytes.value_or(kMaxHeaderBytes));
  bytes_ = bytes.first(static_cast<size_t>(std::min<uint64_t>(bytes.size(), limit)));
}

void Cursor::set_subject(std::string_view kind, std::string_view name) {
  kind_ = kind;
  name_ = name;
}

std::span<const std::byte> Cursor::since(uint64_t offset) const {
  return bytes_.first(offset_).subspan(static_cast<size_t>(offset));
}

Status Cursor::require(uint64_t n, std::string_view what) {
  if (n <= rest().size()) return {};
  const auto end = checked_add(offset_, n);
  if (file_bytes_ && (!end || *end > *file_bytes_)) {
    return error(ErrorCode::truncated, offset_,
                 cat(what, " needs ", n, " bytes, but only ", *file_bytes_ - offset_,
                     " are left of the file's ", *file_bytes_, ": download it again"));
  }
  if (!end || *end > kMaxHeaderBytes) {
    return error(ErrorCode::corrupt, offset_,
                 cat(what, " needs ", n, " bytes, but a header may have at most ", kMaxHeaderBytes,
                     " bytes"));
  }
  needed_ = *end;
  return error(ErrorCode::truncated, offset_,
               cat(what, " needs ", n, " bytes, but only ", rest().size(), " are there"));
}

Result<std::span<const std::byte>> Cursor::read_bytes(uint64_t n, std::string_view what) {
  KINGLET_TRY(require(n, what));
  const auto bytes = rest().first(static_cast<size_t>(n));
  offset_ += bytes.size();
  return bytes;
}

Result<uint64_t> Cursor::read_count(uint64_t max, std::string_view what) {
  const uint64_t offset = offset_;
  KINGLET_ASSIGN(const auto count, read<uint64_t>(what));
  if (count > max) {
    return error(ErrorCode::corrupt, offset, cat(what, " is ", count, ", expected at most ", max));
  }
  return count;
}

Result<std::string_view> Cursor::read_string(uint64_t max_bytes, std::string_view what) {
  const uint64_t offset = offset_;
  KINGLET_ASSIGN(const auto length, read<uint64_t>(what));
  if (length > max_bytes) {
    return error(ErrorCode::corrupt, offset,
                 cat(what, " is ", length, " bytes long, expected at most ", max_bytes));
  }
  KINGLET_ASSIGN(const auto bytes, read_bytes(length, what));
  return as_text(bytes);
}

// Vocabularies have hundreds of thousands of strings, so the first loop must be fast. It stops at a
// string that is wrong or incomplete; read_string() then reports the error.
Status Cursor::skip_strings(uint64_t n, uint64_t max_bytes, std::string_view what) {
  for (; n > 0 && rest().size() >= sizeof(uint64_t); --n) {
    const auto length = load<uint64_t>(rest());
    if (length > max_bytes || length > rest().size() - sizeof length) break;
    offset_ += sizeof length + static_cast<size_t>(length);
  }
  for (; n > 0; --n) KINGLET_TRY(read_string(max_bytes, what));
  return {};
}

Error Cursor::error(ErrorCode code, uint64_t offset, std::string_view message) const {
  std::string subject(kind_);
  if (name_.data() != nullptr) subject += cat(" ", in_quotes(name_));
  return Error{code, cat(subject, ": ", message, " (byte ", offset, ")")};
}

}  // namespace kinglet
