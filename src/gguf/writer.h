// Writes GGUF files (version 3, little-endian), tensor by tensor. See gguf/header.h for the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

// Usage: set the metadata and declare the tensors, call open(), write each tensor's bytes in the
// declared order, and call close().
class GgufWriter {
 public:
  void set(std::string_view key, uint32_t value);
  void set(std::string_view key, float value);
  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, std::span<const std::string> values);
  void set(std::string_view key, std::span<const float> values);
  void set(std::string_view key, std::span<const int32_t> values);
  // Copies an entry of another file.
  void copy(const MetadataEntry& entry);

  // Declares a tensor. `shape` is as in TensorView; its rows must be whole blocks of `type`.
  void add_tensor(std::string_view name, DType type, const Shape& shape);

  // Creates the file and writes its header. Fails with ErrorCode::io, which names the path and the
  // reason.
  Status open(const std::string& path);

  // Writes all bytes of the next tensor. Fails with ErrorCode::invalid_argument if their number is
  // not the declared one, or all tensors have been written; and with io.
  Status write_tensor(std::span<const std::byte> bytes);

  // Closes the file. Errors: invalid_argument (tensors are missing), io.
  Status close();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Tensor {
    std::string name;
    DType type;
    Shape shape;
    uint64_t bytes;
  };

  template <class T>
  void set_number(std::string_view key, ValueType type, T value);
  template <class T>
  void set_numbers(std::string_view key, ValueType type, std::span<const T> values);
  void begin_entry(std::string_view key, ValueType type);
  Status write(std::span<const std::byte> bytes);

  std::vector<std::byte> metadata_;
  uint64_t n_metadata_ = 0;
  std::vector<Tensor> tensors_;
  size_t n_written_ = 0;
  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace kinglet
