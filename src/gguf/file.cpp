#include "gguf/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/format.h"
#include "base/hash.h"
#include "gguf/split.h"

namespace kinglet {
namespace {

// Magic, version and both counts: no GGUF file is shorter.
constexpr uint64_t kFirstTry = 24;

// The first buffer for a header of unknown length: most small models' headers fit.
constexpr uint64_t kFirstHeaderBytes = 1 << 16;

std::span<std::byte> from(std::span<std::byte> bytes, uint64_t offset) {
  return bytes.subspan(static_cast<size_t>(offset));
}

// Copies as much of `source` as `target` has room for; gives back the rest of `source`.
std::span<const std::byte> fill(std::span<std::byte> target, std::span<const std::byte> source) {
  const size_t n = std::min(target.size(), source.size());
  std::copy_n(source.begin(), n, target.begin());
  return source.subspan(n);
}

// Memory for a file's tensors, all of which a model reads.
Result<AlignedBuffer> allocate_data(const GgufHeader& header) {
  KINGLET_ASSIGN(AlignedBuffer data, AlignedBuffer::allocate(header.data_bytes, "the tensor data"));
  data.expect_full_use();
  return data;
}

}  // namespace

TensorView GgufFile::tensor(const TensorInfo& info) {
  std::span<std::byte> data = data_.bytes();
  uint64_t offset = info.offset;
  for (GgufFile& part : other_parts_) {
    if (offset < data.size()) break;
    offset -= data.size();
    data = part.data_.bytes();
  }
  return {info.name, info.type, info.shape,
          from(data, offset).first(static_cast<size_t>(info.bytes))};
}

GgufLoader::GgufLoader(std::optional<uint64_t> file_bytes)
    : announced_bytes_(file_bytes), next_try_(kFirstTry) {}

Result<std::span<std::byte>> GgufLoader::reserve(size_t max_bytes) {
  if (error_) return *error_;
  if (max_bytes == 0) {
    return fail({ErrorCode::invalid_argument, "reserve(0): expected at least 1 byte"});
  }
  std::span<std::byte> room;
  if (!has_header_) {
    if (received_ == file_.header_bytes_.size()) KINGLET_TRY(grow_header());
    room = from(file_.header_bytes_.bytes(), received_);
  } else if (received_ < file_.header_.data_offset) {
    room = from(file_.header_bytes_.bytes(), received_);
  } else if (received_ < file_.file_bytes()) {
    room = from(file_.data_.bytes(), received_ - file_.header_.data_offset);
  }
  room = room.first(std::min(room.size(), max_bytes));
  reserved_ = room.size();
  return room;
}

Status GgufLoader::commit(size_t n) {
  if (error_) return *error_;
  if (n > reserved_) {
    return fail({ErrorCode::invalid_argument,
                 cat("commit(", n, "): only ", reserved_, " bytes were reserved")});
  }
  reserved_ = 0;
  received_ += n;
  if (has_header_ || (received_ < next_try_ && received_ != announced_bytes_)) return {};
  return try_header(announced_bytes_);
}

std::optional<uint64_t> GgufLoader::file_bytes() const {
  return has_header_ ? std::optional(file_.file_bytes()) : std::nullopt;
}

uint64_t GgufLoader::received() const { return received_; }

const GgufHeader* GgufLoader::header() const { return has_header_ ? &file_.header_ : nullptr; }

GgufFile* GgufLoader::file() {
  if (!has_header_) return nullptr;
  const auto& tensors = file_.header_.tensors;
  const bool is_settled =
      announced_bytes_ ||
      std::none_of(tensors.begin(), tensors.end(), [](const TensorInfo& tensor) {
        return tensor.type == DType::q2_0;  // see settle_size()
      });
  return is_settled ? &file_ : nullptr;
}

std::span<const std::byte> GgufLoader::arrived() {
  const uint64_t data_offset = file_.header_.data_offset;
  const uint64_t n = has_header_ && received_ > data_offset ? received_ - data_offset : 0;
  return file_.data_.bytes().first(static_cast<size_t>(n));
}

uint64_t GgufFile::header_hash() const {
  uint64_t hash = hash_bytes(header_bytes_.bytes());
  for (const GgufFile& part : other_parts_) hash = hash_bytes(part.header_bytes_.bytes(), hash);
  return hash;
}

Result<GgufFile> GgufLoader::finish() {
  if (error_) return *error_;
  if (!has_header_) KINGLET_TRY(try_header(received_));  // all there will ever be
  if (received_ < file_.file_bytes()) KINGLET_TRY(settle_size());
  if (received_ < file_.file_bytes()) {
    return fail({ErrorCode::truncated, cat("the file ends after ", received_, " bytes, expected ",
                                           file_.file_bytes(), " from its header")});
  }
  has_header_ = false;
  fail({ErrorCode::invalid_argument, "the loader has already given its file away"});
  return std::move(file_);
}

// Room for the bytes up to the next try, but at most twice of what has arrived: a length that is
// only announced must not allocate memory.
Status GgufLoader::grow_header() {
  const uint64_t wanted = std::max(next_try_, kFirstHeaderBytes);
  const uint64_t size = std::min(
      {wanted, std::max(2 * received_, kFirstHeaderBytes), announced_bytes_.value_or(wanted)});
  if (size == received_) return try_header(announced_bytes_);  // an empty file was announced
  auto grown = AlignedBuffer::allocate(size, "the header");
  if (!grown.ok()) return fail(std::move(grown.error()));
  fill(grown.value().bytes(), file_.header_bytes_.bytes());
  file_.header_bytes_ = std::move(grown.value());
  return {};
}

// Parses what has arrived. A header that is not complete is tried again when there are half as many
// bytes more, so that all tries together cost no more than three times the last one, however small
// the pieces.
Status GgufLoader::try_header(std::optional<uint64_t> file_bytes) {
  const auto collected =
      std::span<const std::byte>(file_.header_bytes_.bytes()).first(static_cast<size_t>(received_));
  uint64_t needed = 0;
  const auto header = parse_gguf_header(collected, file_bytes, &needed);
  if (header.ok()) return place(header.value(), file_bytes);
  if (needed == 0) return fail(header.error());
  next_try_ = std::max(needed, std::min(received_ + received_ / 2, kMaxHeaderBytes));
  return {};
}

// Gives header and data section their final memory, and moves there what has already arrived.
Status GgufLoader::place(const GgufHeader& header, std::optional<uint64_t> file_bytes) {
  auto header_bytes = AlignedBuffer::allocate(header.data_offset, "the header");
  if (!header_bytes.ok()) return fail(std::move(header_bytes.error()));
  auto data = allocate_data(header);
  if (!data.ok()) return fail(std::move(data.error()));

  const AlignedBuffer collected = std::move(file_.header_bytes_);
  file_.header_bytes_ = std::move(header_bytes.value());
  file_.data_ = std::move(data.value());
  const auto arrived = collected.bytes().first(static_cast<size_t>(received_));
  fill(file_.data_.bytes(), fill(file_.header_bytes_.bytes(), arrived));

  // Parsed anew, so that its views point at the final memory.
  auto placed = parse_gguf_header(file_.header_bytes_.bytes(), file_bytes);
  if (!placed.ok()) return fail(std::move(placed.error()));
  file_.header_ = std::move(placed.value());
  has_header_ = true;
  return {};
}

// A stream that did not tell its size has ended, which may tell what its last tensor is.
Status GgufLoader::settle_size() {
  auto header = parse_gguf_header(file_.header_bytes_.bytes(), received_);
  if (!header.ok()) return {};  // finish() says how much is missing
  auto data = allocate_data(header.value());
  if (!data.ok()) return fail(std::move(data.error()));
  fill(data.value().bytes(), file_.data_.bytes());
  file_.data_ = std::move(data.value());
  file_.header_ = std::move(header.value());
  return {};
}

Error GgufLoader::fail(Error error) {
  has_header_ = false;
  error_ = std::move(error);
  return *error_;
}

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePointer = std::unique_ptr<std::FILE, CloseFile>;

Error io_error(const std::string& path, std::string_view action) {
  return Error{ErrorCode::io, cat("cannot ", action, " ", path, ": ", std::strerror(errno))};
}

// The file's size, or nothing where it has none (a pipe).
std::optional<uint64_t> size_of(std::FILE* file) {
  if (fseeko(file, 0, SEEK_END) != 0) return std::nullopt;
  const auto size = ftello(file);
  if (size < 0 || fseeko(file, 0, SEEK_SET) != 0) return std::nullopt;
  return static_cast<uint64_t>(size);
}

Result<GgufFile> read_one(const std::string& path) {
  const FilePointer file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return io_error(path, "open");
  GgufLoader loader(size_of(file.get()));
  while (true) {
    KINGLET_ASSIGN(const auto room, loader.reserve(std::numeric_limits<size_t>::max()));
    if (room.empty()) break;
    const size_t n = std::fread(room.data(), 1, room.size(), file.get());
    if (std::ferror(file.get()) != 0) return io_error(path, "read");
    KINGLET_TRY(loader.commit(n));
    if (n < room.size()) break;
  }
  return loader.finish();
}

}  // namespace

Result<GgufFile> read_gguf_file(const std::string& path) {
  std::vector<GgufFile> parts;
  for (const std::string& part_path : split_paths(path)) {
    KINGLET_ASSIGN(GgufFile part, read_one(part_path));
    parts.push_back(std::move(part));
  }
  return GgufFile::join(std::move(parts));
}

}  // namespace kinglet
