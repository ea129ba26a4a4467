// A text that can be searched: its passages, and a vector of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/half.h"
#include "base/result.h"
#include "kernels/kernels.h"
#include "search/passages.h"

namespace kinglet {

// Vectors of length 1, with zeros up to a multiple of kKvBlock. Each is there twice: as binary16,
// which is stored and decides, and as KvKind::int8, which a search reads first, because it is half
// as long. A passage that has no vector yet has NaN as its first number of binary16, and codes of
// 0.
class PassageVectors {
 public:
  // Returns rows without vectors. Errors: out_of_memory.
  static Result<PassageVectors> create(size_t n_rows, size_t n_numbers);

  size_t n_numbers() const { return n_numbers_; }
  size_t row_bytes() const;
  std::span<std::byte> bytes() { return rows_.bytes(); }
  std::span<const std::byte> bytes() const { return rows_.bytes(); }

  KvRows codes() const { return {codes_.data(), row_bytes() / sizeof(Half), scales_.data(), 1}; }
  KvRows row(size_t row) const { return {rows_.data() + row * row_bytes(), 0, nullptr, 0}; }

  bool has(size_t row) const;
  void set(size_t row, std::span<const float> vector);
  void copy_row(size_t row, const PassageVectors& from, size_t from_row);
  // Makes the codes, after bytes() was written. Returns whether all numbers are finite; if not, the
  // vectors must not be used.
  bool encode_rows();

 private:
  PassageVectors(AlignedBuffer rows, AlignedBuffer codes, size_t n_rows, size_t n_numbers)
      : rows_(std::move(rows)), codes_(std::move(codes)), scales_(n_rows), n_numbers_(n_numbers) {}

  Half* first(size_t row) const;
  void encode(size_t row, const float* numbers);

  AlignedBuffer rows_;
  AlignedBuffer codes_;
  std::vector<float> scales_;
  size_t n_numbers_;
};

struct SearchDocument {
  std::string id;
  std::string info;  // what the application says of it: not interpreted here
  std::string text;  // UTF-8
  std::vector<Passage> passages;
  PassageVectors vectors;

  size_t n_pending() const;  // passages that have no vector
  std::string key() const;   // 16 hexadecimal digits, a hash of the id: the name of its record
};

// A document as it is stored: a RecordHeader, the vectors' rows, the passages, id, info and text.
// Numbers are little-endian. `settings` identifies the model and the settings that made vectors.
// Errors: out_of_memory.
Result<AlignedBuffer> write_record(const SearchDocument& document, uint64_t settings);

struct SearchRecord {
  SearchDocument document;
  uint64_t settings;
};

// Errors: corrupt (damaged, or not a record), unsupported_version, out_of_memory.
Result<SearchRecord> read_record(std::span<const std::byte> bytes);

}  // namespace kinglet
