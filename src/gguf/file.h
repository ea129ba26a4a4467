// A whole GGUF file in memory, and the loader that fills it from pieces as they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "gguf/header.h"
#include "gguf/stored_tensor.h"

namespace kinglet {

// Owns the header's bytes and the data section, apart: 64-byte aligned weights without a copy. Some
// tensors may be left where they are stored.
class GgufFile {
 public:
  // One file of the parts that a larger one was split into (their split.* metadata), in any order:
  // the first part's metadata without these, and the tensors of all, whose offsets count as if the
  // data sections lay one after the other. A file that is whole stays as it is.
  // ErrorCode::truncated names missing parts; corrupt: a part twice, or parts that do not belong
  // together.
  static Result<GgufFile> join(std::vector<GgufFile> parts);

  const GgufHeader& header() const { return header_; }

  // Bytes of the whole file up to the end of the last tensor.
  uint64_t file_bytes() const { return header_.data_offset + header_.data_bytes; }

  // A hash of the header, that of all parts: of the metadata and the table of tensors.
  uint64_t header_hash() const;

  // Bytes of the data section that are in memory.
  uint64_t bytes_in_memory() const;

  // The bytes of a tensor of header(); mutable so that weights can be packed in place. None of a
  // tensor that is stored.
  TensorView tensor(const TensorInfo& info);

  // Where a tensor of header() stays; no file where it is in memory.
  StoredTensor stored(const TensorInfo& info) const;

 private:
  friend class GgufLoader;

  // What memory leaves out of the data section.
  struct Gap {
    uint64_t begin;
    uint64_t end;
  };
  struct Place {
    const GgufFile* part;
    uint64_t offset;  // in its data section
  };
  Place place_of(const TensorInfo& info) const;
  // The gap around this byte of the data section, or the next one after it; null where none is.
  const Gap* next_gap(uint64_t offset) const;
  bool is_in_gap(uint64_t offset) const;
  // Where in memory this byte of the data section is, or the first one after its gap.
  uint64_t in_memory(uint64_t offset) const;

  AlignedBuffer header_bytes_;
  AlignedBuffer data_;
  GgufHeader header_;
  uint64_t section_bytes_ = 0;  // of the own data section
  std::vector<Gap> gaps_;       // in order
  std::unique_ptr<const RandomAccessFile> storage_;
  std::vector<GgufFile> other_parts_;  // in order
};

// Receives a file in pieces of any size, straight into the memory where it will stay:
//
//   loop: span = reserve(n); write up to span.size() bytes there; commit(bytes written)
//   file = finish()
//
// Where tensors stay in `storage`, skip() is asked before each reserve().
//
// The header is collected in a buffer that grows; once it is complete, the data section's size is
// known and allocated in one piece. After an error the loader only repeats that error.
class GgufLoader {
 public:
  // `file_bytes`: the size of the file where the source tells it (it is checked, never trusted).
  // `storage` is the same file, and `choice` tells what stays there; nothing does where the size is
  // not known.
  explicit GgufLoader(std::optional<uint64_t> file_bytes = std::nullopt,
                      std::unique_ptr<const RandomAccessFile> storage = nullptr,
                      StoredChoice choice = {});

  // Passes over bytes that come next and stay in the storage: up to `max_bytes`. How many.
  uint64_t skip(uint64_t max_bytes);

  // Where the next bytes go: at least 1 and at most `max_bytes` (> 0) of them. Empty once the whole
  // file is there, as bytes after the last tensor are padding and are not wanted, and in front of
  // bytes to skip.
  Result<std::span<std::byte>> reserve(size_t max_bytes);

  // `n` bytes were written to the front of the last reserved span.
  Status commit(size_t n);

  // Bytes of the file, header included, once the header has been read.
  std::optional<uint64_t> file_bytes() const;

  // Bytes committed or skipped so far.
  uint64_t received() const;

  // The header, once it has been read: whether a model can be used is known before its weights
  // are downloaded. Null before.
  const GgufHeader* header() const;

  // The file whose data section is being filled, once its header has been read: tensors stay where
  // they are there, until finish() and after it. Null before, and where only the file's end will
  // tell what its tensors are.
  GgufFile* file();

  // The front of the data section in memory that is there.
  std::span<const std::byte> arrived();

  // The complete file, or ErrorCode::truncated with how far it got. Ends the loader.
  Result<GgufFile> finish();

 private:
  Status grow_header();
  Status try_header(std::optional<uint64_t> file_bytes);
  Status place(const GgufHeader& header, std::optional<uint64_t> file_bytes);
  void leave_out(const GgufHeader& header);
  std::span<std::byte> next_room();
  Status settle_size();
  Error fail(Error error);

  std::optional<uint64_t> announced_bytes_;
  StoredChoice choice_;
  GgufFile file_;  // header_bytes_ collects what arrives until the header is complete
  bool has_header_ = false;
  uint64_t received_ = 0;
  uint64_t next_try_;  // received bytes at which to parse the header again
  size_t reserved_ = 0;
  std::optional<Error> error_;
};

// Told of bytes that were read, and of those that the file has, each part of a split one by itself.
using ReadProgress = std::function<void(uint64_t n_read, uint64_t n_bytes)>;

// Reads the file at `path` (UTF-8); of a split one, "NAME-00002-of-00003.gguf", all parts that lie
// beside it. What is chosen stays in the files, which are open as long as it does. ErrorCode::io
// names the path and the reason.
Result<GgufFile> read_gguf_file(const std::string& path, StoredChoice choice = {},
                                const ReadProgress& on_progress = {});

}  // namespace kinglet
