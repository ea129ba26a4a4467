// The table of ways to store keys and values. A row is the head_dim elements of one head at one
// position. A row is always written as a whole, and has its own scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/half.h"
#include "base/result.h"

namespace kinglet {

enum class KvKind : uint8_t { f32, f16, int8, fp8_e4m3, fp8_e5m2, q8, q4 };
constexpr size_t kNKvKinds = 7;

// The number of elements of q8 and q4 that share a scale. Rows of these kinds are padded with zeros
// to whole blocks.
constexpr size_t kKvBlock = 32;

// The first positions of a sequence, one block of attention. In kinds with integer codes, they are
// stored as f16, because tokens attend most to them, whatever they say (attention sinks:
// StreamingLLM, Xiao et al., 2023). Keys after them are stored as k - c, where c is the mean of the
// head's keys from position kCentreBegin to kExactPositions. Keys of a head have a large part in
// common, and it is what rounding suffers from; attention does not see it, because softmax ignores
// what is added to all scores (SageAttention, Zhang et al., 2024).
constexpr uint32_t kExactPositions = 64;
constexpr uint32_t kCentreBegin = 4;

// A block of q4, which holds its scale in front of its codes.
struct KvBlockQ4 {
  Half scale;
  std::byte codes[kKvBlock / 2];
};
static_assert(sizeof(KvBlockQ4) == 18);

//   kind      codes of a row                                scales of a row
//   f32       head_dim floats                               none
//   f16       head_dim binary16, ±65504 at most             none
//   int8      head_dim bytes, round(x / scale)              largest / 127
//   fp8_e4m3  head_dim bytes, see base/fp8.h                largest / 448
//   fp8_e5m2  head_dim bytes                                largest / 57344
//   q8        blocks of 32 bytes, round(x / scale)          for each block: largest / 127
//   q4        KvBlockQ4s: element 2i of a block in byte i's none but those in KvBlockQ4
//             low nibble, 2i + 1 in its high one, its code
//             -8..7 plus 8; ±65504 at most
//
// Whole blocks of q4 hold their elements after rotate_blocks(), which spreads a single large
// element over the whole block: at 4 bits, it would leave the others little precision (QuaRot,
// Ashkboos et al., 2024). A block's scale may be negative. It is the best of a few candidates: the
// one whose multiples are nearest to the elements.
//
// `largest` is the largest magnitude of the row or block; round() rounds halves away from zero. A
// row's scale is never below the smallest normal float. A block whose largest magnitude is below
// 1e-10 has the scale 0.
struct KvKindInfo {
  KvKind kind;
  std::string_view name;
  uint64_t (*code_bytes)(uint64_t head_dim);
  uint64_t (*n_scales)(uint64_t head_dim);
  // Stores head_dim finite elements.
  void (*write_row)(const float* row, size_t head_dim, std::byte* codes, float* scales);
  // Restores the elements [begin, end). `begin` and `end` are multiples of kKvBlock, or the end of
  // the row.
  void (*read_row)(const std::byte* codes, const float* scales, size_t begin, size_t end,
                   float* out);
  // Whether the codes are those of the row after rotate_blocks().
  bool rotates = false;
  // Whether codes are integers. The first kExactPositions are then f16, and keys are centred; the
  // errors of floats are relative, so a common part does not make them larger.
  bool has_integer_codes = false;

  uint64_t row_bytes(uint64_t head_dim) const {
    return code_bytes(head_dim) + n_scales(head_dim) * sizeof(float);
  }
};

const KvKindInfo& kv_kind_info(KvKind kind);

// The kind of the rows at a position: f16 for the first ones of kinds with integer codes.
inline const KvKindInfo& kind_at(const KvKindInfo& info, size_t position) {
  const bool is_exact = info.has_integer_codes && position < kExactPositions;
  return is_exact ? kv_kind_info(KvKind::f16) : info;
}

// Multiplies each whole block of the n elements by the Hadamard matrix divided by sqrt(kKvBlock).
// This matrix is orthogonal and its own inverse.
void rotate_blocks(float* row, size_t n);

// Returns the row with this name, or null.
const KvKindInfo* find_kv_kind(std::string_view name);

// Returns the names for messages: "f32, …".
std::string kv_kind_names();

// The kind that "auto" stands for: after a long text it decodes faster than floats, and its cost is
// not visible in what a model writes, whatever the width of its heads. docs/kv.md has the numbers.
constexpr KvKind kAutoKvKind = KvKind::q8;

// Returns the kind that an option names, which may be "auto". Error: invalid_argument.
Result<KvKind> choose_kv_kind(std::string_view name);

}  // namespace kinglet
