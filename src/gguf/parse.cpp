// parse_gguf_header(): a reader that goes through the header once, from front to back.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "gguf/cursor.h"
#include "gguf/ggml_types.h"
#include "gguf/header.h"
#include "gguf/unusable.h"

namespace kinglet {
namespace {

constexpr std::string_view kStringName = "the string";
constexpr uint32_t kOldestVersion = 2;
constexpr uint32_t kNewestVersion = 3;
constexpr uint32_t kMinAlignment = 8;

// The smallest size of an entry: an empty name, and the smallest value or a single dimension.
constexpr uint64_t kMinMetadataBytes = sizeof(uint64_t) + sizeof(uint32_t) + 1;
constexpr uint64_t kMinTensorBytes =
    sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint64_t);

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, std::optional<uint64_t> file_bytes)
      : cursor_(bytes, file_bytes), file_bytes_(file_bytes) {}

  Result<GgufHeader> read();
  uint64_t needed() const { return cursor_.needed(); }

 private:
  Status read_magic();
  Status read_version();
  Status read_counts();
  Status read_metadata();
  Status read_value(ValueType type, uint32_t array_depth);
  Status read_array(uint32_t depth);
  Result<ValueType> read_value_type(std::string_view what);
  Status read_alignment();
  Status read_tensor();
  Result<Shape> read_shape();
  Result<DType> read_dtype();
  Result<uint64_t> bytes_of(DType type, const Shape& shape, uint64_t offset) const;
  Status check_unique_names() const;
  Status place_data();
  struct Room {
    const TensorInfo* tensor;
    uint64_t bytes;
  };
  std::vector<Room> rooms_of_q2_0(std::span<TensorInfo* const> in_order) const;
  Status settle_q2_0(std::span<TensorInfo* const> in_order);
  Result<uint64_t> end_of(const TensorInfo& tensor) const;

  Cursor cursor_;
  std::optional<uint64_t> file_bytes_;
  uint64_t n_metadata_ = 0;
  uint64_t n_tensors_ = 0;
  GgufHeader header_;
};

Result<GgufHeader> HeaderReader::read() {
  cursor_.set_subject("GGUF header");
  KINGLET_TRY(read_magic());
  KINGLET_TRY(read_version());
  KINGLET_TRY(read_counts());
  for (uint64_t i = 0; i < n_metadata_; ++i) KINGLET_TRY(read_metadata());
  KINGLET_TRY(read_alignment());
  for (uint64_t i = 0; i < n_tensors_; ++i) KINGLET_TRY(read_tensor());
  KINGLET_TRY(check_unique_names());
  KINGLET_TRY(place_data());
  return std::move(header_);
}

Status HeaderReader::read_magic() {
  const std::string_view start =
      as_text(cursor_.rest().first(std::min(cursor_.rest().size(), kRecognizableBytes)));
  if (file_bytes_ == 0 || !start.starts_with(kGgufMagic.substr(0, start.size()))) {
    // In a stream, what the file is must not depend on how much of it has arrived.
    const uint64_t enough =
        std::min<uint64_t>(file_bytes_.value_or(UINT64_MAX), kRecognizableBytes);
    KINGLET_TRY(cursor_.require(enough, "the file"));
    return Error{ErrorCode::not_gguf, explain_other_format(start)};
  }
  KINGLET_TRY(cursor_.read_bytes(kGgufMagic.size(), "the magic"));
  return {};
}

Status HeaderReader::read_version() {
  const uint64_t offset = cursor_.offset();
  KINGLET_ASSIGN(header_.version, cursor_.read<uint32_t>("the version"));
  const uint32_t version = header_.version;
  if (version >= kOldestVersion && version <= kNewestVersion) return {};
  // Versions are small numbers: if the low half is 0, the file has the other byte order.
  if (version != 0 && version % (1 << 16) == 0) {
    return cursor_.error(ErrorCode::unsupported_version, offset,
                         cat("the file is big-endian (version ", __builtin_bswap32(version),
                             "), expected a little-endian one: convert it with "
                             "gguf_convert_endian.py of llama.cpp"));
  }
  return cursor_.error(
      ErrorCode::unsupported_version, offset,
      cat("version ", version, " is not supported, expected 2 or 3: ",
          version < kOldestVersion ? "use a newer file of the model, or convert it again"
                                   : "use another file of the model, or a newer Kinglet"));
}

Status HeaderReader::read_counts() {
  KINGLET_ASSIGN(n_tensors_, cursor_.read_count(kMaxTensors, "the number of tensors"));
  KINGLET_ASSIGN(n_metadata_, cursor_.read_count(kMaxMetadata, "the number of metadata entries"));
  // After this check, the size of the allocations is bounded by the bytes that are there.
  KINGLET_TRY(cursor_.require(
      n_metadata_ * kMinMetadataBytes + n_tensors_ * kMinTensorBytes,
      cat("a table of ", n_metadata_, " metadata entries and ", n_tensors_, " tensors")));
  header_.metadata.reserve(static_cast<size_t>(n_metadata_));
  header_.tensors.reserve(static_cast<size_t>(n_tensors_));
  return {};
}

Status HeaderReader::read_metadata() {
  cursor_.set_subject("metadata entry");
  KINGLET_ASSIGN(const auto key, cursor_.read_string(kMaxKeyBytes, "the key"));
  cursor_.set_subject("metadata", key);
  KINGLET_ASSIGN(const auto type, read_value_type("the value's type"));
  const uint64_t offset = cursor_.offset();
  KINGLET_TRY(read_value(type, 0));
  header_.metadata.push_back({key, MetadataValue(type, cursor_.since(offset))});
  return {};
}

Result<ValueType> HeaderReader::read_value_type(std::string_view what) {
  const uint64_t offset = cursor_.offset();
  KINGLET_ASSIGN(const auto id, cursor_.read<uint32_t>(what));
  constexpr auto kLast = static_cast<uint32_t>(ValueType::float64);
  if (id > kLast) {
    return cursor_.error(ErrorCode::unsupported_type, offset,
                         cat(what, " is ", id, ", which is not known; expected 0 to ", kLast));
  }
  return static_cast<ValueType>(id);
}

// `array_depth`: the number of arrays around the value.
Status HeaderReader::read_value(ValueType type, uint32_t array_depth) {
  if (type == ValueType::array) return read_array(array_depth + 1);
  if (type == ValueType::string) {
    KINGLET_TRY(cursor_.read_string(kMaxStringBytes, kStringName));
    return {};
  }
  const uint64_t offset = cursor_.offset();
  KINGLET_ASSIGN(const auto bytes, cursor_.read_bytes(value_type_bytes(type), "the value"));
  if (type == ValueType::boolean && load<uint8_t>(bytes) > 1) {
    return cursor_.error(ErrorCode::corrupt, offset,
                         cat("the bool is ", load<uint8_t>(bytes), ", expected 0 or 1"));
  }
  return {};
}

Status HeaderReader::read_array(uint32_t depth) {
  if (depth > kMaxArrayDepth) {
    return cursor_.error(ErrorCode::corrupt, cursor_.offset(),
                         cat("more than ", kMaxArrayDepth, " arrays lie inside each other"));
  }
  KINGLET_ASSIGN(const auto type, read_value_type("the array's element type"));
  KINGLET_ASSIGN(const auto size, cursor_.read_count(kMaxArraySize, "the array's size"));
  if (const size_t bytes = value_type_bytes(type); bytes > 0 && type != ValueType::boolean) {
    KINGLET_TRY(cursor_.read_bytes(size * bytes, "the array"));
    return {};
  }
  if (type == ValueType::string) return cursor_.skip_strings(size, kMaxStringBytes, kStringName);
  for (uint64_t i = 0; i < size; ++i) KINGLET_TRY(read_value(type, depth));
  return {};
}

Status HeaderReader::read_alignment() {
  KINGLET_ASSIGN(header_.alignment, header_.get_uint("general.alignment", kDefaultAlignment));
  if (header_.alignment < kMinAlignment || header_.alignment > kMaxAlignment ||
      !std::has_single_bit(header_.alignment)) {
    return Error{ErrorCode::corrupt,
                 cat("metadata \"general.alignment\" is ", header_.alignment,
                     ", expected a power of two from ", kMinAlignment, " to ", kMaxAlignment)};
  }
  return {};
}

Status HeaderReader::read_tensor() {
  cursor_.set_subject("tensor table");
  TensorInfo tensor{};
  KINGLET_ASSIGN(tensor.name, cursor_.read_string(kMaxTensorNameBytes, "the name"));
  cursor_.set_subject("tensor", tensor.name);
  const uint64_t shape_offset = cursor_.offset();
  KINGLET_ASSIGN(tensor.shape, read_shape());
  KINGLET_ASSIGN(tensor.type, read_dtype());
  KINGLET_ASSIGN(tensor.bytes, bytes_of(tensor.type, tensor.shape, shape_offset));
  const uint64_t offset = cursor_.offset();
  KINGLET_ASSIGN(tensor.offset, cursor_.read<uint64_t>("the offset"));
  if (tensor.offset % header_.alignment != 0) {
    return cursor_.error(ErrorCode::corrupt, offset,
                         cat("the offset is ", tensor.offset, ", expected a multiple of ",
                             header_.alignment, ", the alignment"));
  }
  header_.tensors.push_back(tensor);
  return {};
}

Result<Shape> HeaderReader::read_shape() {
  const uint64_t offset = cursor_.offset();
  KINGLET_ASSIGN(const auto n_dims, cursor_.read<uint32_t>("the number of dimensions"));
  if (n_dims < 1 || n_dims > kMaxDims) {
    return cursor_.error(ErrorCode::corrupt, offset,
                         cat("the number of dimensions is ", n_dims, ", expected 1 to ", kMaxDims));
  }
  Shape shape = {1, 1, 1, 1};
  uint64_t n_elements = 1;
  for (uint32_t i = 0; i < n_dims; ++i) {
    KINGLET_ASSIGN(shape[i], cursor_.read<uint64_t>("a dimension"));
    const auto product = checked_mul(n_elements, shape[i]);
    if (shape[i] == 0 || !product) {
      return cursor_.error(ErrorCode::corrupt, offset,
                           cat("dimension ", i, " is ", shape[i], ", expected at least 1 and not ",
                               "more than 2^64 elements in all"));
    }
    n_elements = *product;
  }
  return shape;
}

Result<DType> HeaderReader::read_dtype() {
  const uint64_t offset = cursor_.offset();
  KINGLET_ASSIGN(const auto id, cursor_.read<uint32_t>("the type"));
  if (const DTypeInfo* info = find_dtype(id)) return info->type;
  std::string expected;
  for (const DTypeInfo& info : dtypes()) expected += cat(expected.empty() ? "" : ", ", info.name);
  const std::string_view name = unread_type_name(id);
  return cursor_.error(ErrorCode::unsupported_type, offset,
                       cat("the type is ", id, ", ", name.empty() ? "which is not known" : name,
                           "; expected one of ", expected));
}

Result<uint64_t> HeaderReader::bytes_of(DType type, const Shape& shape, uint64_t offset) const {
  const DTypeInfo& info = dtype_info(type);
  if (shape[0] % info.block_size != 0) {
    return cursor_.error(
        ErrorCode::corrupt, offset,
        cat("the shape ", shape_text(shape), " has rows of ", shape[0], ", expected a multiple of ",
            info.block_size, ", the block size of ", info.name));
  }
  const auto bytes = tensor_bytes(type, shape[0], shape[1] * shape[2] * shape[3]);
  if (!bytes) {
    return cursor_.error(
        ErrorCode::corrupt, offset,
        cat("the shape ", shape_text(shape), " of ", info.name, " needs more than 2^64 bytes"));
  }
  return *bytes;
}

// Returns the first name that is twice in the list. It sorts the list, so that a hostile header
// costs no more than n log n.
std::optional<std::string_view> find_duplicate(std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ? std::nullopt : std::optional(*twice);
}

Status HeaderReader::check_unique_names() const {
  std::vector<std::string_view> names;
  for (const MetadataEntry& entry : header_.metadata) names.push_back(entry.key);
  if (const auto key = find_duplicate(names)) {
    return Error{ErrorCode::corrupt, cat("metadata ", in_quotes(*key), " is there twice")};
  }
  names.clear();
  for (const TensorInfo& tensor : header_.tensors) names.push_back(tensor.name);
  if (const auto name = find_duplicate(names)) {
    return Error{ErrorCode::corrupt, cat("tensor ", in_quotes(*name), " is there twice")};
  }
  return {};
}

// "tensor "name" of 128 bytes at byte 64 of the data section".
std::string placed(const TensorInfo& tensor) {
  return cat("tensor ", in_quotes(tensor.name), " of ", tensor.bytes, " bytes at byte ",
             tensor.offset, " of the data section");
}

// The bytes of a Q2_0 tensor if its blocks have 128 weights; nothing if its rows are not whole
// blocks.
std::optional<uint64_t> early_bytes(const TensorInfo& tensor) {
  return tensor_bytes(DType::pq2_0, tensor.shape[0],
                      tensor.shape[1] * tensor.shape[2] * tensor.shape[3]);
}

// Returns the Q2_0 tensors that another tensor follows, and the bytes up to that tensor. If there
// are none, but the last tensor is Q2_0, returns that one and the bytes up to the end of the file,
// if the file's size is known.
std::vector<HeaderReader::Room> HeaderReader::rooms_of_q2_0(
    std::span<TensorInfo* const> in_order) const {
  std::vector<Room> rooms;
  for (size_t i = 0; i + 1 < in_order.size(); ++i) {
    const TensorInfo& tensor = *in_order[i];
    if (tensor.type == DType::q2_0) {
      rooms.push_back({&tensor, in_order[i + 1]->offset - tensor.offset});
    }
  }
  const TensorInfo& last = *in_order.back();
  const uint64_t begin = header_.data_offset + last.offset;
  if (rooms.empty() && last.type == DType::q2_0 && file_bytes_ && *file_bytes_ > begin) {
    rooms.push_back({&last, *file_bytes_ - begin});
  }
  return rooms;
}

// Decides which blocks the Q2_0 tensors have. In its first months (2026), Q2_0 had blocks of 128
// weights; these became PQ2_0, with another id. Only the distances between tensors in the file show
// which blocks it holds.
Status HeaderReader::settle_q2_0(std::span<TensorInfo* const> in_order) {
  const std::vector<Room> rooms = rooms_of_q2_0(in_order);
  const auto misfit = std::find_if(
      rooms.begin(), rooms.end(), [](const Room& room) { return room.bytes < room.tensor->bytes; });
  if (misfit == rooms.end()) return {};
  const bool is_early = std::all_of(rooms.begin(), rooms.end(), [&](const Room& room) {
    const auto bytes = early_bytes(*room.tensor);
    return bytes && *bytes <= room.bytes && room.bytes - *bytes < header_.alignment;
  });
  if (!is_early) {
    if (misfit->tensor == in_order.back())
      return {};  // the file is cut short: place_data() reports it
    return Error{ErrorCode::corrupt,
                 cat("tensor ", in_quotes(misfit->tensor->name), " of Q2_0 ",
                     shape_text(misfit->tensor->shape), " has ", misfit->bytes,
                     " bytes before the next one, expected ", misfit->tensor->bytes,
                     ", or what blocks of 128 weights take in all tensors of Q2_0")};
  }
  for (TensorInfo* tensor : in_order) {
    if (tensor->type != DType::q2_0) continue;
    const auto bytes = early_bytes(*tensor);
    if (!bytes) {
      return Error{ErrorCode::corrupt,
                   cat("tensor ", in_quotes(tensor->name), " has rows of ", tensor->shape[0],
                       ", but Q2_0 has blocks of 128 in this file")};
    }
    tensor->type = DType::pq2_0;
    tensor->bytes = *bytes;
  }
  return {};
}

// Sets the position of the data section, and checks that its tensors do not overlap and lie inside
// the file.
Status HeaderReader::place_data() {
  header_.data_offset = cursor_.offset();
  if (header_.tensors.empty()) return {};
  header_.data_offset = round_up(cursor_.offset(), header_.alignment);

  std::vector<TensorInfo*> in_order;
  for (TensorInfo& tensor : header_.tensors) in_order.push_back(&tensor);
  std::sort(in_order.begin(), in_order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return std::pair(a->offset, a) < std::pair(b->offset, b);  // in the order of the file
  });
  KINGLET_TRY(settle_q2_0(in_order));
  const TensorInfo* previous = nullptr;
  for (const TensorInfo* tensor : in_order) {
    if (tensor->offset < header_.data_bytes) {
      return Error{ErrorCode::corrupt, cat(placed(*tensor), " overlaps ", placed(*previous))};
    }
    KINGLET_ASSIGN(header_.data_bytes, end_of(*tensor));
    previous = tensor;
  }
  const uint64_t end = header_.data_offset + header_.data_bytes;
  if (file_bytes_ && *file_bytes_ < end) {
    return Error{ErrorCode::truncated, explain_incomplete(*file_bytes_, end)};
  }
  return {};
}

// Returns the end of the tensor in the data section.
Result<uint64_t> HeaderReader::end_of(const TensorInfo& tensor) const {
  const auto end = checked_add(tensor.offset, tensor.bytes);
  if (end && checked_add(header_.data_offset, *end)) return *end;
  return Error{ErrorCode::corrupt, cat(placed(tensor), " ends after byte 2^64 of the file")};
}

}  // namespace

Result<GgufHeader> parse_gguf_header(std::span<const std::byte> bytes,
                                     std::optional<uint64_t> file_bytes, uint64_t* needed) {
  HeaderReader reader(bytes, file_bytes);
  Result<GgufHeader> header = reader.read();
  if (needed != nullptr) *needed = reader.needed();
  return header;
}

}  // namespace kinglet
