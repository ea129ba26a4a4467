#include "gguf/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/file_access.h"
#include "base/format.h"
#include "base/hash.h"
#include "gguf/split.h"
#include "gguf/unusable.h"

namespace kinglet {
namespace {

// Magic, version and both counts: no GGUF file is shorter.
constexpr uint64_t kFirstTry = 24;

// The size of the first buffer for a header: the headers of most small models fit.
constexpr uint64_t kFirstHeaderBytes = 1 << 16;

std::span<std::byte> from(std::span<std::byte> bytes, uint64_t offset) {
  return bytes.subspan(static_cast<size_t>(offset));
}

// Copies as much of `source` as `target` has room for; returns the rest of `source`.
std::span<const std::byte> fill(std::span<std::byte> target, std::span<const std::byte> source) {
  const size_t n = std::min(target.size(), source.size());
  std::copy_n(source.begin(), n, target.begin());
  return source.subspan(n);
}

// Allocates memory for a file's tensors. A model reads all of it.
Result<AlignedBuffer> allocate_data(uint64_t bytes) {
  KINGLET_ASSIGN(AlignedBuffer data, AlignedBuffer::allocate(bytes, "the tensor data"));
  data.expect_full_use();
  return data;
}

}  // namespace

GgufFile::Place GgufFile::place_of(const TensorInfo& info) const {
  Place place{this, info.offset};
  for (const GgufFile& part : other_parts_) {
    if (place.offset < place.part->section_bytes_) break;
    place.offset -= place.part->section_bytes_;
    place.part = &part;
  }
  return place;
}

const GgufFile::Gap* GgufFile::next_gap(uint64_t offset) const {
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(),
                                [offset](const Gap& each) { return offset < each.end; });
  return gap == gaps_.end() ? nullptr : &*gap;
}

bool GgufFile::is_in_gap(uint64_t offset) const {
  const Gap* gap = next_gap(offset);
  return gap != nullptr && offset >= gap->begin;
}

const GgufFile::Room* GgufFile::room_at(uint64_t offset) const {
  const auto room = std::find_if(rooms_.begin(), rooms_.end(),
                                 [offset](const Room& each) { return each.offset == offset; });
  return room == rooms_.end() ? nullptr : &*room;
}

uint64_t GgufFile::in_memory(uint64_t offset) const {
  uint64_t position = offset;
  for (const Room& room : rooms_) {
    if (offset >= room.offset) position += room.bytes;
  }
  for (const Gap& gap : gaps_) {
    if (offset > gap.begin) position -= std::min(offset, gap.end) - gap.begin;
  }
  return position;
}

uint64_t GgufFile::bytes_in_memory() const {
  uint64_t n = in_memory(section_bytes_);
  for (const GgufFile& part : other_parts_) n += part.in_memory(part.section_bytes_);
  return n;
}

uint64_t GgufFile::stored_bytes() const {
  uint64_t n = 0;
  for (const Gap& gap : gaps_) n += gap.end - gap.begin;
  for (const GgufFile& part : other_parts_) n += part.stored_bytes();
  return n;
}

uint64_t GgufFile::room_bytes() const {
  return bytes_in_memory() + stored_bytes() - header_.data_bytes;
}

TensorView GgufFile::tensor(const TensorInfo& info) {
  const auto [part, offset] = place_of(info);
  TensorView view{info.name, info.type, info.shape, {}, nullptr};
  if (part->is_in_gap(offset)) return view;
  if (is_outline_) {
    const auto address = static_cast<uintptr_t>(kAlignment + in_memory(offset));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing is at this place
    view.bytes = {reinterpret_cast<std::byte*>(address), static_cast<size_t>(info.bytes)};
  } else {
    // The part is this file or one of its other_parts_, so it is not const.
    auto& data = const_cast<GgufFile*>(part)->data_;
    view.bytes = from(data.bytes(), part->in_memory(offset)).first(static_cast<size_t>(info.bytes));
  }
  const Room* room = part->room_at(offset);
  if (room != nullptr) view.coded = view.bytes.data() - room->bytes;
  return view;
}

StoredTensor GgufFile::stored(const TensorInfo& info) const {
  const auto [part, offset] = place_of(info);
  if (!part->is_in_gap(offset)) return {};
  return {part->storage_.get(), part->header_.data_offset + offset};
}

namespace {

class NoFile final : public RandomAccessFile {
 public:
  Status read(uint64_t /*offset*/, std::span<std::byte> /*bytes*/) const override {
    return Error{ErrorCode::io, "a plan has no file to read from"};
  }
};

}  // namespace

Result<GgufFile> GgufFile::outline(AlignedBuffer beginning, std::optional<uint64_t> file_bytes,
                                   StoredChoice choice, uint64_t* needed) {
  GgufFile file;
  file.header_bytes_ = std::move(beginning);
  KINGLET_ASSIGN(file.header_, parse_gguf_header(file.header_bytes_.bytes(), file_bytes, needed));
  file.section_bytes_ = file.header_.data_bytes;
  file.storage_ = std::make_unique<NoFile>();
  file.is_outline_ = true;
  file.leave_out(file.header_, choice);
  file.make_rooms(file.header_);
  return file;
}

GgufLoader::GgufLoader(std::optional<uint64_t> file_bytes,
                       std::unique_ptr<const RandomAccessFile> storage, StoredChoice choice)
    : announced_bytes_(file_bytes), choice_(choice), next_try_(kFirstTry) {
  file_.storage_ = std::move(storage);
}

uint64_t GgufLoader::skip(uint64_t max_bytes) {
  const uint64_t data_offset = file_.header_.data_offset;
  if (!has_header_ || received_ < data_offset) return 0;
  const uint64_t offset = received_ - data_offset;
  if (!file_.is_in_gap(offset)) return 0;
  const uint64_t n = std::min(max_bytes, file_.next_gap(offset)->end - offset);
  reserved_ = 0;
  received_ += n;
  return n;
}

// Returns the memory for the next bytes. The header must be there.
std::span<std::byte> GgufLoader::next_room() {
  if (received_ < file_.header_.data_offset) return from(file_.header_bytes_.bytes(), received_);
  if (received_ >= file_.file_bytes()) return {};
  const uint64_t offset = received_ - file_.header_.data_offset;
  // The bytes up to the next gap or room lie together.
  uint64_t end = file_.section_bytes_;
  const GgufFile::Gap* gap = file_.next_gap(offset);
  if (gap != nullptr) end = std::max(gap->begin, offset);
  for (const GgufFile::Room& room : file_.rooms_) {
    if (room.offset > offset) end = std::min(end, room.offset);
  }
  const auto room = from(file_.data_.bytes(), file_.in_memory(offset));
  return room.first(static_cast<size_t>(end - offset));
}

Result<std::span<std::byte>> GgufLoader::reserve(size_t max_bytes) {
  if (error_) return *error_;
  if (max_bytes == 0) {
    return fail({ErrorCode::invalid_argument, "reserve(0): expected at least 1 byte"});
  }
  std::span<std::byte> room;
  if (!has_header_) {
    if (received_ == file_.header_bytes_.size()) KINGLET_TRY(grow_header());
    room = from(file_.header_bytes_.bytes(), received_);
  } else {
    room = next_room();
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
  // A room is there before the first byte of its tensor.
  return file_.data_.bytes().first(static_cast<size_t>(file_.in_memory(n)));
}

uint64_t GgufFile::header_hash() const {
  uint64_t hash = hash_bytes(header_bytes_.bytes());
  for (const GgufFile& part : other_parts_) hash = hash_bytes(part.header_bytes_.bytes(), hash);
  return hash;
}

Result<GgufFile> GgufLoader::finish() {
  if (error_) return *error_;
  if (!has_header_) KINGLET_TRY(try_header(received_));  // no more bytes will come
  if (received_ < file_.file_bytes()) KINGLET_TRY(settle_size());
  if (received_ < file_.file_bytes()) {
    return fail({ErrorCode::truncated, explain_incomplete(received_, file_.file_bytes())});
  }
  has_header_ = false;
  fail({ErrorCode::invalid_argument, "the loader has already given its file away"});
  return std::move(file_);
}

// Makes room for the bytes up to the next try, at most twice the bytes that have arrived:
// a length that is only announced must not allocate memory.
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

// Parses the bytes that have arrived. If the header is not complete, tries again when half as many
// bytes more have arrived: so all tries together cost at most three times the last one, even for
// very small pieces.
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

// Allocates the final memory of header and data section, and moves the received bytes there.
Status GgufLoader::place(const GgufHeader& header, std::optional<uint64_t> file_bytes) {
  auto header_bytes = AlignedBuffer::allocate(header.data_offset, "the header");
  if (!header_bytes.ok()) return fail(std::move(header_bytes.error()));
  if (file_.storage_ != nullptr && announced_bytes_) file_.leave_out(header, choice_);
  file_.make_rooms(header);
  auto data = allocate_data(file_.in_memory(header.data_bytes));
  if (!data.ok()) return fail(std::move(data.error()));

  const AlignedBuffer collected = std::move(file_.header_bytes_);
  file_.header_bytes_ = std::move(header_bytes.value());
  file_.data_ = std::move(data.value());
  file_.section_bytes_ = header.data_bytes;
  const auto arrived = collected.bytes().first(static_cast<size_t>(received_));
  auto rest = fill(file_.header_bytes_.bytes(), arrived);

  // Parsed again, so that its views point to the final memory.
  auto placed = parse_gguf_header(file_.header_bytes_.bytes(), file_bytes);
  if (!placed.ok()) return fail(std::move(placed.error()));
  file_.header_ = std::move(placed.value());
  has_header_ = true;
  for (received_ -= rest.size(); !rest.empty();) {
    rest = rest.subspan(static_cast<size_t>(skip(rest.size())));
    const auto room = next_room();
    const auto left = room.empty() ? room : fill(room, rest);  // no room for padding after the end
    received_ += rest.size() - left.size();
    rest = left;
  }
  return {};
}

// Makes gaps for the tensors that stay in the storage. A gap must keep the alignment of the bytes
// after it, so the last bytes of its tensor may be in memory too.
void GgufFile::leave_out(const GgufHeader& header, StoredChoice choice) {
  if (choice.choose == nullptr) return;
  for (const TensorInfo* tensor : choice.choose(header)) {
    const uint64_t n = tensor->bytes / kAlignment * kAlignment;
    if (n == 0 || tensor->bytes < choice.min_bytes) continue;
    gaps_.push_back({tensor->offset, tensor->offset + n});
    for (size_t i = gaps_.size() - 1; i > 0 && gaps_[i].begin < gaps_[i - 1].begin; --i) {
      std::swap(gaps_[i], gaps_[i - 1]);
    }
  }
}

// Makes rooms for the tensors in memory whose weights models keep in another form. Their sizes keep
// the alignment of the bytes after them.
void GgufFile::make_rooms(const GgufHeader& header) {
  for (const TensorInfo& tensor : header.tensors) {
    const DTypeInfo& type = dtype_info(tensor.type);
    if (type.coded == type.type || is_in_gap(tensor.offset)) continue;
    const uint64_t n = dtype_info(type.coded).block_bytes - type.block_bytes;
    const uint64_t bytes = tensor.bytes / type.block_bytes * n;
    rooms_.push_back({tensor.offset, (bytes + kAlignment - 1) / kAlignment * kAlignment});
  }
  std::sort(rooms_.begin(), rooms_.end(),
            [](const Room& a, const Room& b) { return a.offset < b.offset; });
}

// Parses the header again after the end of a stream of unknown size: the size, now known, may
// change the types of its tensors (see HeaderReader::settle_q2_0()).
Status GgufLoader::settle_size() {
  auto header = parse_gguf_header(file_.header_bytes_.bytes(), received_);
  if (!header.ok()) return {};  // finish() reports how much is missing
  file_.section_bytes_ = header.value().data_bytes;
  auto data = allocate_data(file_.in_memory(file_.section_bytes_));
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

class OpenFile final : public RandomAccessFile {
 public:
  OpenFile(std::string path, FilePointer file) : path_(std::move(path)), file_(std::move(file)) {}

  // Threads may read at the same time.
  Status read(uint64_t offset, std::span<std::byte> bytes) const override {
    while (!bytes.empty()) {
      const auto n = read_at(file_.get(), offset, bytes);
      if (!n) return io_error(path_, "read");
      if (*n == 0) {
        return Error{ErrorCode::io, cat(path_, " ends at byte ", offset,
                                        ": it became shorter since the model was loaded")};
      }
      bytes = bytes.subspan(*n);
      offset += *n;
    }
    return {};
  }

 private:
  std::string path_;
  FilePointer file_;
};

// Bytes that are read between two reports of progress.
constexpr size_t kReportedBytes = size_t{8} << 20;

Result<GgufFile> read_opened(const std::string& path, FilePointer opened, StoredChoice choice,
                             const ReadProgress& on_progress) {
  std::FILE* const file = opened.get();
  const auto n_bytes = file_size(file);
  GgufLoader loader(n_bytes, std::make_unique<const OpenFile>(path, std::move(opened)), choice);
  while (true) {
    const uint64_t n_skipped = loader.skip(std::numeric_limits<uint64_t>::max());
    if (n_skipped > 0 && !skip_in_file(file, n_skipped)) return io_error(path, "read");
    const size_t most = on_progress ? kReportedBytes : std::numeric_limits<size_t>::max();
    KINGLET_ASSIGN(const auto room, loader.reserve(most));
    if (room.empty()) break;
    const size_t n = std::fread(room.data(), 1, room.size(), file);
    if (std::ferror(file) != 0) return io_error(path, "read");
    KINGLET_TRY(loader.commit(n));
    if (n < room.size()) break;
    if (on_progress) on_progress(file_position(file), n_bytes.value_or(0));
  }
  return loader.finish();
}

// Reads more bytes until the header is among them.
Result<GgufFile> outline_opened(const std::string& path, FilePointer opened) {
  const std::optional<uint64_t> n_bytes = file_size(opened.get());
  if (!n_bytes) return read_opened(path, std::move(opened), {}, {});  // a pipe is read only once
  const uint64_t n_most = std::min(*n_bytes, kMaxHeaderBytes);
  for (uint64_t n = std::min(kFirstHeaderBytes, n_most);;) {
    KINGLET_ASSIGN(AlignedBuffer beginning, AlignedBuffer::allocate(n, "the header"));
    const bool is_found = std::fseek(opened.get(), 0, SEEK_SET) == 0;
    if (!is_found || std::fread(beginning.data(), 1, beginning.size(), opened.get()) < n) {
      return io_error(path, "read");
    }
    uint64_t needed = 0;
    auto outline = GgufFile::outline(std::move(beginning), n_bytes, {}, &needed);
    if (outline.ok() || needed == 0 || n == n_most) return outline;
    n = std::min(std::max(needed, 2 * n), n_most);
  }
}

// Reads all parts of a file. `read` returns one of them.
template <class Read>
Result<GgufFile> read_parts(const std::string& path, const Read& read) {
  const auto read_one = [&](const std::string& part_path) -> Result<GgufFile> {
    FilePointer opened(open_file(part_path, "rb"));
    if (opened == nullptr) return io_error(part_path, "open");
    Result<GgufFile> file = read(part_path, std::move(opened));
    if (file.ok() || file.error().code == ErrorCode::io) return file;
    return Error{file.error().code, cat(part_path, ": ", file.error().message)};
  };
  std::vector<GgufFile> parts;
  KINGLET_ASSIGN(GgufFile named, read_one(path));
  KINGLET_ASSIGN(const SplitPosition split, read_split(named.header()));
  parts.push_back(std::move(named));
  // A whole file may have the name of a part, too.
  if (split.n_parts > 1) {
    for (const std::string& part_path : split_paths(path)) {
      if (part_path == path) continue;
      KINGLET_ASSIGN(GgufFile part, read_one(part_path));
      parts.push_back(std::move(part));
    }
  }
  return GgufFile::join(std::move(parts));
}

}  // namespace

Result<GgufFile> read_gguf_file(const std::string& path, StoredChoice choice,
                                const ReadProgress& on_progress) {
  return read_parts(path, [&](const std::string& part, FilePointer opened) {
    return read_opened(part, std::move(opened), choice, on_progress);
  });
}

Result<GgufFile> outline_gguf_file(const std::string& path) {
  return read_parts(path, outline_opened);
}

}  // namespace kinglet
