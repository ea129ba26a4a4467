// The header of a GGUF file: what describes a model, before its weights.
//
//   magic "GGUF" | version u32 | n_tensors u64 | n_metadata u64
//   metadata: key string | type u32 | value            (n_metadata times)
//   tensors:  name string | n_dims u32 | dims u64 × n_dims | type u32 | offset u64
//   padding to general.alignment (default 32), then the data section, where offsets are 0
//
// Little-endian; a string is a u64 length and that many bytes; an array is an element type u32, a
// u64 count and the elements. Source: the GGUF specification (ggml's docs/gguf.md), versions 2, 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/metadata.h"
#include "tensor/tensor.h"

namespace kinglet {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::string_view kGgufExtension = ".gguf";

// Limits that a well-formed file never reaches. They bound what a hostile header can ask for.
constexpr uint64_t kMaxTensors = 1 << 16;
constexpr uint64_t kMaxMetadata = 1 << 16;
constexpr uint64_t kMaxKeyBytes = 65535;       // the specification's own limit
constexpr uint64_t kMaxTensorNameBytes = 64;   // the specification's own limit
constexpr uint64_t kMaxStringBytes = 1 << 26;  // the longest real ones are chat templates
constexpr uint64_t kMaxArraySize = 1 << 24;    // the longest real ones are merges
constexpr uint32_t kMaxArrayDepth = 4;         // arrays of arrays; real ones have one level
constexpr uint64_t kMaxHeaderBytes = 1 << 28;
constexpr uint32_t kMaxAlignment = 1 << 20;
constexpr uint32_t kDefaultAlignment = 32;

struct MetadataEntry {
  std::string_view key;
  MetadataValue value;
};

struct TensorInfo {
  std::string_view name;
  DType type;
  Shape shape;
  uint64_t offset;  // bytes from the start of the data section
  uint64_t bytes;   // computed from type and shape
};

// A parsed header. It consists of views of the parsed bytes, which must outlive it.
struct GgufHeader {
  uint32_t version = 0;
  uint32_t alignment = kDefaultAlignment;
  uint64_t data_offset = 0;  // bytes from the file's start; without tensors, the header's end
  uint64_t data_bytes = 0;   // up to the end of the last tensor
  std::vector<MetadataEntry> metadata;
  std::vector<TensorInfo> tensors;

  // Null if there is no such key or tensor.
  const MetadataValue* find(std::string_view key) const;
  const TensorInfo* find_tensor(std::string_view name) const;

  // Return the value of a key. If the key is absent, require_…() fails with
  // ErrorCode::missing_metadata, and get_…() returns the fallback. Both fail with wrong_type, whose
  // message names the key, what was found and what was expected, and with not_finite for a float
  // that is NaN, infinite or too large.
  Result<uint32_t> require_uint(std::string_view key) const;
  Result<uint32_t> get_uint(std::string_view key, uint32_t fallback) const;
  Result<float> require_float(std::string_view key) const;
  Result<float> get_float(std::string_view key, float fallback) const;
  Result<bool> get_bool(std::string_view key, bool fallback) const;
  Result<std::string_view> require_string(std::string_view key) const;
  Result<std::string_view> get_string(std::string_view key, std::string_view fallback) const;
  Result<MetadataArray> require_array(std::string_view key, ValueType element_type) const;
  // An array of integers of any type: converters differ. The caller checks the values' range.
  Result<MetadataArray> require_integers(std::string_view key) const;
};

// Parses the header at the front of `bytes`. `file_bytes` is the size of the whole file if it is
// known: tensors must then lie inside the file. Early Q2_0 tensors, whose blocks have 128 weights,
// get the type PQ2_0, which is the later name of such blocks.
//
// ErrorCode::truncated means that `bytes` end too early. The header then has at least *needed
// bytes, so a stream knows when to try again. (If the file itself is too short for its header or
// its tensors, the error is truncated too, with *needed = 0.)
Result<GgufHeader> parse_gguf_header(std::span<const std::byte> bytes,
                                     std::optional<uint64_t> file_bytes = std::nullopt,
                                     uint64_t* needed = nullptr);

}  // namespace kinglet
