#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/ascii.h"
#include "base/checked.h"
#include "tensor/codecs.h"

namespace kinglet {
namespace {

template <class Block>
void dequantize_blocks(const std::byte* blocks, float* out, size_t n) {
  const auto* block = reinterpret_cast<const Block*>(blocks);
  for (size_t i = 0; i < n; i += Block::kSize) decode(*block++, out + i);
}

void copy_f32(const std::byte* blocks, float* out, size_t n) {
  std::memcpy(out, blocks, n * sizeof(float));
}

template <class Float16>
void widen(const std::byte* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Float16 value;
    std::memcpy(&value, blocks + i * sizeof value, sizeof value);
    out[i] = to_float(value);
  }
}

template <class Block>
void encode_blocks(const std::byte* blocks, std::byte* out, size_t n) {
  const auto* block = reinterpret_cast<const Block*>(blocks);
  auto* coded = reinterpret_cast<typename Block::Coded*>(out);
  for (size_t i = 0; i < n; i += Block::kSize) *coded++ = encode(*block++);
}

template <class Block>
constexpr DType type_of() {
  DType found{};
  const auto look = [&found](const auto& row) {
    using Row = std::remove_cvref_t<decltype(row)>;
    if (std::is_same_v<typename Row::Block, Block>) found = Row::kType;
  };
  std::apply([&look](const auto&... rows) { (look(rows), ...); }, kTypeRows);
  return found;
}

template <DType kId, class Block>
constexpr DTypeInfo info_of(const TypeRow<kId, Block>& row) {
  DTypeInfo info{kId, row.name, 1, sizeof(Block), row.units, nullptr, kId, nullptr};
  if constexpr (IsBlock<Block>) {
    info.block_size = Block::kSize;
    info.dequantize = dequantize_blocks<Block>;
    if constexpr (requires { typename Block::Coded; }) {
      static_assert(Block::Coded::kSize == Block::kSize);
      info.coded = type_of<typename Block::Coded>();
      info.encode = encode_blocks<Block>;
    }
  } else if constexpr (std::is_same_v<Block, float>) {
    info.dequantize = copy_f32;
  } else {
    info.dequantize = widen<Block>;
  }
  return info;
}

constexpr std::array kTypes = table_of_types([](const auto& row) { return info_of(row); });

constexpr bool is_cut_whole(const DTypeInfo& info) {
  size_t bytes = 0;
  for (const UnitRun& run : info.units) bytes += size_t{run.bytes} * run.count;
  return bytes == 0 || bytes == info.block_bytes;
}
static_assert(std::all_of(kTypes.begin(), kTypes.end(), is_cut_whole));

constexpr size_t id_of(const DTypeInfo& info) { return static_cast<size_t>(info.type); }

constexpr size_t kLargestId = id_of(
    *std::max_element(kTypes.begin(), kTypes.end(),
                      [](const DTypeInfo& a, const DTypeInfo& b) { return a.type < b.type; }));

// The row of each id; kNDTypes if the id has no row.
constexpr std::array kIndices = [] {
  std::array<uint8_t, kLargestId + 1> indices{};
  indices.fill(kNDTypes);
  for (size_t i = 0; i < kNDTypes; ++i) indices[id_of(kTypes[i])] = static_cast<uint8_t>(i);
  return indices;
}();

}  // namespace

std::span<const DTypeInfo> dtypes() { return dtypes_in_memory().first(kNFileTypes); }

std::span<const DTypeInfo> dtypes_in_memory() { return kTypes; }

size_t dtype_index(DType type) { return kIndices[static_cast<size_t>(type)]; }

const DTypeInfo* find_dtype(uint32_t id) {
  if (id > kLargestId || kIndices[id] >= kNFileTypes) return nullptr;
  return &kTypes[kIndices[id]];
}

const DTypeInfo* find_dtype(std::string_view name) {
  const auto types = dtypes();
  const auto row = std::find_if(types.begin(), types.end(), [name](const DTypeInfo& info) {
    return equal_ignoring_case(info.name, name);
  });
  return row == types.end() ? nullptr : &*row;
}

const DTypeInfo& dtype_info(DType type) { return kTypes[dtype_index(type)]; }

std::optional<uint64_t> tensor_bytes(DType type, uint64_t n_columns, uint64_t n_rows) {
  const DTypeInfo& info = dtype_info(type);
  if (n_columns % info.block_size != 0) return std::nullopt;
  const auto row_bytes = checked_mul(n_columns / info.block_size, info.block_bytes);
  return row_bytes ? checked_mul(*row_bytes, n_rows) : std::nullopt;
}

}  // namespace kinglet
