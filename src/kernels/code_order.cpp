#include "kernels/code_order.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "tensor/blocks.h"

namespace kinglet {
namespace {

// Converts the fifth bits of Q5_0 and Q5_1 (bit i for column i) to planes: bit 2 u of byte j for
// column 4 u + j, bit 2 u + 1 for column 16 + 4 u + j. Then a step gets its bits with one shift and
// a mask. One multiplication moves four neighbouring bits to bit 0 of four bytes, or back.
uint64_t to_planes(uint64_t bits) {
  uint64_t planes = 0;
  for (uint32_t u = 0; u < 4; ++u) {
    const uint64_t low = (bits >> (4 * u) & 0x0f) * 0x00204081 & 0x01010101;
    const uint64_t high = (bits >> (16 + 4 * u) & 0x0f) * 0x00204081 & 0x01010101;
    planes |= low << (2 * u) | high << (2 * u + 1);
  }
  return planes;
}
uint64_t from_planes(uint64_t planes) {
  uint64_t bits = 0;
  for (uint32_t u = 0; u < 4; ++u) {
    const uint64_t low = (planes >> (2 * u) & 0x01010101) * 0x01020408 >> 24 & 0x0f;
    const uint64_t high = (planes >> (2 * u + 1) & 0x01010101) * 0x01020408 >> 24 & 0x0f;
    bits |= low << (4 * u) | high << (16 + 4 * u);
  }
  return bits;
}

// Splits bit pairs into the low bits of all pairs, followed by their high bits.
uint64_t split_pairs(uint64_t pairs) {
  const auto gather = [](uint64_t bits) {  // every other bit
    bits &= 0x5555555555555555;
    bits = (bits | bits >> 1) & 0x3333333333333333;
    bits = (bits | bits >> 2) & 0x0f0f0f0f0f0f0f0f;
    bits = (bits | bits >> 4) & 0x00ff00ff00ff00ff;
    bits = (bits | bits >> 8) & 0x0000ffff0000ffff;
    return (bits | bits >> 16) & 0x00000000ffffffff;
  };
  return gather(pairs) | gather(pairs >> 1) << 32;
}
uint64_t join_pairs(uint64_t planes) {
  const auto scatter = [](uint64_t bits) {
    bits = (bits | bits << 16) & 0x0000ffff0000ffff;
    bits = (bits | bits << 8) & 0x00ff00ff00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0f;
    bits = (bits | bits << 2) & 0x3333333333333333;
    return (bits | bits << 1) & 0x5555555555555555;
  };
  return scatter(planes & 0xffffffff) | scatter(planes >> 32) << 1;
}

// Swaps the bits of `mask` with those that are `distance` higher.
void swap_bits(uint64_t& bits, uint64_t mask, int distance) {
  const uint64_t difference = (bits >> distance ^ bits) & mask;
  bits ^= difference ^ difference << distance;
}

// Swaps bit j of byte i with bit i of byte j. The bit pairs of 8 columns, one in each byte, become
// planes.
uint64_t transpose(uint64_t bits) {
  swap_bits(bits, 0x00aa00aa00aa00aa, 7);
  swap_bits(bits, 0x0000cccc0000cccc, 14);
  swap_bits(bits, 0x00000000f0f0f0f0, 28);
  return bits;
}

// Swaps pair j of byte i with pair i of byte j, for i and j < 4, in both halves of the word.
uint64_t transpose_pairs(uint64_t pairs) {
  swap_bits(pairs, 0x00cc00cc00cc00cc, 6);
  swap_bits(pairs, 0x0000f0f00000f0f0, 12);
  return pairs;
}

// Converts the last eight codes of PTQ1_0 from base 3 (see BlockPTQ1_0) to bit pairs in the order
// of columns.
uint64_t to_pairs(uint64_t fours) {
  uint64_t pairs = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    constexpr uint32_t kPowers[] = {1, 3, 9, 27};
    const uint64_t fraction = (fours >> (i % 2 * 8) & 0xff) * kPowers[i / 2] & 0xff;
    pairs |= (fraction * 3 >> 8) << (2 * i);
  }
  return pairs;
}
uint64_t from_pairs(uint64_t pairs) {
  uint64_t fours = 0;
  for (uint32_t byte = 0; byte < 2; ++byte) {
    uint64_t digits = 0;
    for (uint32_t i = byte; i < 8; i += 2) digits = digits * 3 + (pairs >> (2 * i) & 3);
    // The byte is digits / 3^4 as a fraction, rounded up.
    fours |= (digits * 256 + 80) / 81 << (8 * byte);
  }
  return fours;
}

// The units of Q6_K's codes in the order in which kernels read them. Of 128 columns, the low
// nibbles of the first 64, the high pairs of all, and the low nibbles of the last 64 take turns.
constexpr size_t kQ6CodeUnits = 48;
constexpr auto kQ6Order = [] {
  std::array<uint8_t, kQ6CodeUnits> order{};
  for (uint8_t half = 0; half < 2; ++half) {
    for (uint8_t unit = 0; unit < 8; ++unit) {
      uint8_t* three = order.data() + 24 * half + 3 * unit;
      three[0] = static_cast<uint8_t>(16 * half + unit);
      three[1] = static_cast<uint8_t>(32 + 8 * half + unit);
      three[2] = static_cast<uint8_t>(16 * half + 8 + unit);
    }
  }
  return order;
}();

void order_units(std::byte* codes) {
  std::array<uint32_t, kQ6CodeUnits> units;
  std::memcpy(units.data(), codes, sizeof units);
  for (size_t i = 0; i < kQ6CodeUnits; ++i) std::memcpy(codes + 4 * i, &units[kQ6Order[i]], 4);
}
void restore_units(std::byte* codes) {
  std::array<uint32_t, kQ6CodeUnits> units;
  for (size_t i = 0; i < kQ6CodeUnits; ++i) std::memcpy(&units[kQ6Order[i]], codes + 4 * i, 4);
  std::memcpy(codes, units.data(), sizeof units);
}

template <class Word, uint64_t (*kTurn)(uint64_t)>
void turn_word(std::byte* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  word = static_cast<Word>(kTurn(word));
  std::memcpy(bytes, &word, sizeof word);
}

template <class Word, uint64_t (*kTurn)(uint64_t), uint64_t (*kTurnBack)(uint64_t)>
constexpr CodeOrder words(DType type, bool in_planes, size_t begin, size_t n_bytes) {
  return {type,
          in_planes,
          begin,
          begin + n_bytes,
          sizeof(Word),
          turn_word<Word, kTurn>,
          turn_word<Word, kTurnBack>};
}

// Where a field's bytes begin in a block, and how many they are.
#define KINGLET_FIELD(Block, field) offsetof(Block, field), sizeof(Block::field)

constexpr CodeOrder kCodeOrders[] = {
    words<uint32_t, to_planes, from_planes>(DType::q5_0, false,
                                            KINGLET_FIELD(BlockQ5_0, high_bits)),
    words<uint32_t, to_planes, from_planes>(DType::q5_1, false,
                                            KINGLET_FIELD(BlockQ5_1, high_bits)),
    // The nibbles and the pairs after them.
    {DType::q6_k, false, 0, 4 * kQ6CodeUnits, 4 * kQ6CodeUnits, order_units, restore_units},
    words<uint64_t, transpose, transpose>(DType::tq2_0, true, KINGLET_FIELD(BlockTQ2_0, pairs)),
    words<uint64_t, split_pairs, join_pairs>(DType::q2_0, true, KINGLET_FIELD(BlockQ2_0, pairs)),
    words<uint64_t, split_pairs, join_pairs>(DType::pq2_0, true, KINGLET_FIELD(BlockPQ2_0, pairs)),
    words<uint64_t, transpose_pairs, transpose_pairs>(DType::q2_0, false,
                                                      KINGLET_FIELD(BlockQ2_0, pairs)),
    words<uint64_t, transpose_pairs, transpose_pairs>(DType::pq2_0, false,
                                                      KINGLET_FIELD(BlockPQ2_0, pairs)),
    words<uint16_t, to_pairs, from_pairs>(DType::ptq1_0, false, KINGLET_FIELD(BlockPTQ1_0, fours)),
};
static_assert(4 * kQ6CodeUnits == offsetof(BlockQ6_K, scales));

#undef KINGLET_FIELD

}  // namespace

const CodeOrder* code_order(DType type, bool in_planes) {
  const auto* order = std::find_if(
      std::begin(kCodeOrders), std::end(kCodeOrders),
      [type, in_planes](const CodeOrder& o) { return o.type == type && o.in_planes == in_planes; });
  return order == std::end(kCodeOrders) ? nullptr : order;
}

}  // namespace kinglet
