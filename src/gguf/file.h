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

// Owns the header's bytes and the data section. They are separate buffers, so that the weights are
// 64-byte aligned without a copy. Some tensors may stay where they are stored.
class GgufFile {
 public:
  // Joins the parts that a file was split into (according to their split.* metadata), given in any
  // order. The result has the first part's metadata without split.*, and the tensors of all parts;
  // their offsets count as if the data sections lay one after the other. A file that was not split
  // is returned unchanged. Errors: truncated (parts are missing; the message names them); corrupt
  // (a part is there twice, or the parts do not belong together).
  static Result<GgufFile> join(std::vector<GgufFile> parts);

  // A file without its data, from its first bytes: for plans of memory. The bytes of its tensors
  // have places, at which there is nothing. `choice`: as in GgufLoader. Errors: those of
  // parse_gguf_header.
  static Result<GgufFile> outline(AlignedBuffer beginning, std::optional<uint64_t> file_bytes,
                                  StoredChoice choice = {}, uint64_t* needed = nullptr);

  const GgufHeader& header() const { return header_; }

  // The bytes of the whole file up to the end of the last tensor.
  uint64_t file_bytes() const { return header_.data_offset + header_.data_bytes; }

  // A hash of the header (metadata and table of tensors), of all parts.
  uint64_t header_hash() const;

  // The bytes of memory for the data section: without what stays in the storage, and with the room
  // that tensors need besides their bytes.
  uint64_t bytes_in_memory() const;

  // The number of bytes of the data section that stay in the storage.
  uint64_t stored_bytes() const;

  // The bytes of memory that tensors need besides their bytes in the file.
  uint64_t room_bytes() const;

  // A view of a tensor of header(). Its bytes are mutable so that weights can be packed in place;
  // they are empty if the tensor stays in the storage. Tensors of types that models keep in another
  // form have room for it.
  TensorView tensor(const TensorInfo& info);

  // Where a tensor of header() is stored; no file if it is in memory.
  StoredTensor stored(const TensorInfo& info) const;

 private:
  friend class GgufLoader;

  // A range of the data section that is not in memory.
  struct Gap {
    uint64_t begin;
    uint64_t end;
  };
  // Memory before a tensor, for its form in memory: see TensorView::coded.
  struct Room {
    uint64_t offset;  // of the tensor in the data section
    uint64_t bytes;
  };
  struct Place {
    const GgufFile* part;
    uint64_t offset;  // in the part's data section
  };
  Place place_of(const TensorInfo& info) const;
  // The gap around this byte of the data section, or the next gap after it; null if there is none.
  const Gap* next_gap(uint64_t offset) const;
  bool is_in_gap(uint64_t offset) const;
  const Room* room_at(uint64_t offset) const;  // null if there is none
  // The position in memory of this byte of the data section, or of the first byte after its gap.
  uint64_t in_memory(uint64_t offset) const;
  void leave_out(const GgufHeader& header, StoredChoice choice);
  void make_rooms(const GgufHeader& header);

  AlignedBuffer header_bytes_;
  AlignedBuffer data_;
  GgufHeader header_;
  uint64_t section_bytes_ = 0;  // of this part's data section
  bool is_outline_ = false;
  std::vector<Gap> gaps_;    // in order
  std::vector<Room> rooms_;  // in order
  std::unique_ptr<const RandomAccessFile> storage_;
  std::vector<GgufFile> other_parts_;  // in order
};

// Receives a file in pieces of any size, directly in its final memory:
//
//   loop: span = reserve(n); write up to span.size() bytes there; commit(bytes written)
//   file = finish()
//
// If tensors stay in `storage`, call skip() before each reserve().
//
// The header is collected in a buffer that grows. Once it is complete, the size of the data section
// is known, and its memory is allocated in one piece. After an error, the loader only returns that
// error.
class GgufLoader {
 public:
  // `file_bytes`: the size of the file, if the source reports it (it is checked, never trusted).
  // `storage` is the same file, and `choice` selects the tensors that stay there. If the size is
  // not known, no tensors stay there.
  explicit GgufLoader(std::optional<uint64_t> file_bytes = std::nullopt,
                      std::unique_ptr<const RandomAccessFile> storage = nullptr,
                      StoredChoice choice = {});

  // Skips the next bytes if they stay in the storage, up to `max_bytes`. Returns how many.
  uint64_t skip(uint64_t max_bytes);

  // Returns where to write the next bytes: at least 1 and at most `max_bytes` (> 0). The span is
  // empty once the whole file is there (bytes after the last tensor are padding, which is not
  // needed), and before bytes to skip.
  Result<std::span<std::byte>> reserve(size_t max_bytes);

  // Reports that `n` bytes were written to the front of the last reserved span.
  Status commit(size_t n);

  // The bytes of the file, header included, once the header has been read.
  std::optional<uint64_t> file_bytes() const;

  // The number of bytes committed or skipped so far.
  uint64_t received() const;

  // The header, once it has been read; null before that. So the caller can check whether a model is
  // supported before its weights are downloaded.
  const GgufHeader* header() const;

  // The file whose data section is being filled, once its header has been read. Its tensors do not
  // move, not even in finish(). Null before that, and if the types of its tensors are not certain
  // before the end of the file (see settle_size()).
  GgufFile* file();

  // The bytes of the data section in memory that have arrived.
  std::span<const std::byte> arrived();

  // Returns the complete file and ends the loader. Fails with ErrorCode::truncated, whose message
  // says how many bytes arrived.
  Result<GgufFile> finish();

 private:
  Status grow_header();
  Status try_header(std::optional<uint64_t> file_bytes);
  Status place(const GgufHeader& header, std::optional<uint64_t> file_bytes);
  std::span<std::byte> next_room();
  Status settle_size();
  Error fail(Error error);

  std::optional<uint64_t> announced_bytes_;
  StoredChoice choice_;
  GgufFile file_;  // header_bytes_ collects the bytes until the header is complete
  bool has_header_ = false;
  uint64_t received_ = 0;
  uint64_t next_try_;  // value of received_ at which to parse the header again
  size_t reserved_ = 0;
  std::optional<Error> error_;
};

// Receives the number of bytes read and the size of the file; counted for each part of a split file
// by itself.
using ReadProgress = std::function<void(uint64_t n_read, uint64_t n_bytes)>;

// Reads the file at `path` (UTF-8). If it is a part of a split file, by its metadata and its name,
// "NAME-00002-of-00003.gguf", reads all parts in its folder. Tensors selected by `choice` stay in
// the files, which stay open as long as the result lives. Errors: io, and those of GgufLoader; each
// message names the path.
Result<GgufFile> read_gguf_file(const std::string& path, StoredChoice choice = {},
                                const ReadProgress& on_progress = {});

// Reads only the headers, or a whole pipe: see GgufFile::outline(). Errors: as above.
Result<GgufFile> outline_gguf_file(const std::string& path);

}  // namespace kinglet
