#include "gguf/writer.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/checked.h"
#include "base/file_access.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "gguf/header.h"

namespace kinglet {
namespace {

constexpr uint32_t kVersion = 3;

void put_bytes(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
  put_bytes(out, std::as_bytes(std::span(&value, 1)));
}

void put_string(std::vector<std::byte>& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  put_bytes(out, std::as_bytes(std::span<const char>(text)));
}

size_t padding_behind(uint64_t bytes) {
  return static_cast<size_t>(round_up(bytes, kDefaultAlignment) - bytes);
}

uint32_t n_dims(const Shape& shape) {
  uint32_t n = kMaxDims;
  while (n > 1 && shape[n - 1] == 1) --n;
  return n;
}

}  // namespace

void GgufWriter::begin_entry(std::string_view key, ValueType type) {
  put_string(metadata_, key);
  put(metadata_, static_cast<uint32_t>(type));
  ++n_metadata_;
}

template <class T>
void GgufWriter::set_number(std::string_view key, ValueType type, T value) {
  begin_entry(key, type);
  put(metadata_, value);
}

template <class T>
void GgufWriter::set_numbers(std::string_view key, ValueType type, std::span<const T> values) {
  begin_entry(key, ValueType::array);
  put(metadata_, static_cast<uint32_t>(type));
  put<uint64_t>(metadata_, values.size());
  put_bytes(metadata_, std::as_bytes(values));
}

void GgufWriter::set(std::string_view key, uint32_t value) {
  set_number(key, ValueType::uint32, value);
}

void GgufWriter::set(std::string_view key, float value) {
  set_number(key, ValueType::float32, value);
}

void GgufWriter::set(std::string_view key, std::string_view value) {
  begin_entry(key, ValueType::string);
  put_string(metadata_, value);
}

void GgufWriter::set(std::string_view key, std::span<const std::string> values) {
  begin_entry(key, ValueType::array);
  put(metadata_, static_cast<uint32_t>(ValueType::string));
  put<uint64_t>(metadata_, values.size());
  for (const std::string& value : values) put_string(metadata_, value);
}

void GgufWriter::set(std::string_view key, std::span<const float> values) {
  set_numbers(key, ValueType::float32, values);
}

void GgufWriter::set(std::string_view key, std::span<const int32_t> values) {
  set_numbers(key, ValueType::int32, values);
}

void GgufWriter::copy(const MetadataEntry& entry) {
  begin_entry(entry.key, entry.value.type());
  put_bytes(metadata_, entry.value.bytes());
}

void GgufWriter::add_tensor(std::string_view name, DType type, const Shape& shape) {
  const uint64_t n_rows = shape[1] * shape[2] * shape[3];
  tensors_.push_back({std::string(name), type, shape, *tensor_bytes(type, shape[0], n_rows)});
}

Status GgufWriter::open(const std::string& path) {
  path_ = path;
  file_.reset(open_file(path, "wb"));
  if (!file_) {
    return Error{ErrorCode::io, cat("cannot create ", in_quotes(path), ": ", std::strerror(errno))};
  }
  std::vector<std::byte> header;
  put_bytes(header, std::as_bytes(std::span(kGgufMagic)));
  put(header, kVersion);
  put<uint64_t>(header, tensors_.size());
  put(header, n_metadata_);
  put_bytes(header, metadata_);
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    put_string(header, tensor.name);
    put(header, n_dims(tensor.shape));
    for (uint32_t i = 0; i < n_dims(tensor.shape); ++i) put(header, tensor.shape[i]);
    put(header, static_cast<uint32_t>(tensor.type));
    put(header, offset);
    offset += tensor.bytes + padding_behind(tensor.bytes);
  }
  header.resize(header.size() + padding_behind(header.size()));
  return write(header);
}

Status GgufWriter::write_tensor(std::span<const std::byte> bytes) {
  if (n_written_ == tensors_.size()) {
    return Error{ErrorCode::invalid_argument,
                 cat("all ", tensors_.size(), " declared tensors have been written")};
  }
  const Tensor& tensor = tensors_[n_written_];
  if (bytes.size() != tensor.bytes) {
    return Error{ErrorCode::invalid_argument, cat("tensor ", tensor.name, ": ", bytes.size(),
                                                  " bytes given, ", tensor.bytes, " declared")};
  }
  ++n_written_;
  constexpr std::array<std::byte, kDefaultAlignment> kZeros{};
  KINGLET_TRY(write(bytes));
  return write(std::span(kZeros).first(padding_behind(bytes.size())));
}

Status GgufWriter::close() {
  if (n_written_ != tensors_.size()) {
    return Error{ErrorCode::invalid_argument,
                 cat(n_written_, " tensors were written, ", tensors_.size(), " declared")};
  }
  if (std::fclose(file_.release()) != 0) {
    return Error{ErrorCode::io, cat("cannot write ", in_quotes(path_), ": ", std::strerror(errno))};
  }
  return {};
}

Status GgufWriter::write(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return Error{ErrorCode::io, cat("cannot write ", in_quotes(path_), ": ", std::strerror(errno))};
  }
  return {};
}

}  // namespace kinglet
