// Reads the codes and scales of each format from a column of interleaved blocks (see packing.h).
//
// The unit that begins at byte i of a row's own block begins at byte V::kLanes * i of the
// interleaved blocks. tensor/blocks.h has the formulas of the formats, vector_type.h describes the
// vector type V, and vector/interleaved_dot.h shows the meaning of a format's members.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "base/loops.h"
#include "tensor/blocks.h"

namespace kinglet {

template <class V, class B>
struct InterleavedBlocks {
  using Block = B;
  using Float = typename V::Float;
  using Int = typename V::Int;
  using Bytes = typename V::Bytes;
  static constexpr int32_t kOffset = 0;
  static constexpr bool kHasMinimum = false;
  static constexpr bool kSharesBytes = true;  // a byte holds two codes

  const std::byte* data = nullptr;

  InterleavedBlocks() = default;
  explicit InterleavedBlocks(const std::byte* interleaved) : data(interleaved) {}

  // Returns the unit that begins at byte i of a row's own block, for all rows.
  const std::byte* unit(size_t i) const { return data + V::kLanes * i; }
  Bytes bytes_at(size_t i) const { return V::load_bytes(unit(i)); }
  Float half_at(size_t i) const { return V::load_half(unit(i)); }

  static Int field(Int word, size_t shift, int32_t mask) {
    return V::bit_and(V::shift_right(word, static_cast<uint32_t>(shift)), V::splat_int(mask));
  }
};

// Whether a sum takes its steps as template arguments, for example to load four of them at once.
template <class Dot>
concept WantsConstantSteps = requires {
  Dot::kConstantSteps;
};

// A sum of up to eight steps, made of smaller sums of kSteps each.
template <class Dot, size_t kSteps>
struct StepSum {
  static_assert(kSteps == 4 || kSteps == 8);
  Dot parts[8 / kSteps];

  static constexpr bool kConstantSteps = WantsConstantSteps<Dot>;
  template <size_t Step, class Weights, class Codes>
  void add(const Weights& w, const Codes& x) {
    parts[Step / kSteps].add(w, x);
  }
  template <size_t Step, class Weights, class Codes>
  void add(const Weights& w, const Codes (&x)[8]) {
    parts[Step / kSteps].template add<Step>(w, x);
  }
  template <class V>
  typename V::Int total() const {
    if constexpr (kSteps == 8) return parts[0].sum();
    if constexpr (kSteps == 4) return V::add_int(parts[0].sum(), parts[1].sum());
  }
};

template <class V, bool kHigh>
typename V::Bytes nibbles(typename V::Bytes bytes) {
  return V::template move_bits < kHigh ? -4 : 0, 0x0f > (bytes);
}

// --- A scale for every 32 columns ----------------------------------------------------------------

template <class V, class Block>
struct InterleavedNibbles : InterleavedBlocks<V, Block> {
  using InterleavedBlocks<V, Block>::InterleavedBlocks;
  using Sum = StepSum<typename V::NibbleDot, V::kNibbleSteps>;
  static constexpr size_t kWidth = 32;

  typename V::Float scale(size_t /*sub_block*/) const {
    return this->half_at(offsetof(Block, scale));
  }
  template <size_t Step>
  typename V::Unsigned unpack(size_t /*part*/) const {
    return V::as_unsigned(codes<Step>());
  }

 protected:
  template <size_t Step>
  typename V::Bytes codes() const {
    return nibbles<V, (Step >= 4)>(this->bytes_at(offsetof(Block, codes) + Step % 4 * 4));
  }
};

template <class V>
struct InterleavedQ4_0 : InterleavedNibbles<V, BlockQ4_0> {
  using InterleavedNibbles<V, BlockQ4_0>::InterleavedNibbles;
  static constexpr int32_t kOffset = 8;
};

template <class V>
struct InterleavedQ4_1 : InterleavedNibbles<V, BlockQ4_1> {
  using InterleavedNibbles<V, BlockQ4_1>::InterleavedNibbles;
  static constexpr bool kHasMinimum = true;

  typename V::Float minimum(size_t /*sub_block*/) const {
    return this->half_at(offsetof(BlockQ4_1, minimum));
  }
};

// Packing rearranges the fifth bits into planes (see code_order.cpp): bit 2 u of byte j of a row's
// word belongs to column 4 u + j, bit 2 u + 1 to column 16 + 4 u + j.
template <class V, class Block>
struct InterleavedFiveBits : InterleavedNibbles<V, Block> {
  using InterleavedNibbles<V, Block>::InterleavedNibbles;
  using Sum = StepSum<typename V::NibbleDot, 4>;

  template <size_t Step>
  typename V::Unsigned unpack(size_t /*part*/) const {
    constexpr int kPlane = 2 * int{Step % 4} + int{Step >= 4};
    const auto fifth = this->bytes_at(offsetof(Block, high_bits));
    return V::as_unsigned(
        V::bit_or(this->template codes<Step>(), V::template move_bits<4 - kPlane, 0x10>(fifth)));
  }
};

template <class V>
struct InterleavedQ5_0 : InterleavedFiveBits<V, BlockQ5_0> {
  using InterleavedFiveBits<V, BlockQ5_0>::InterleavedFiveBits;
  static constexpr int32_t kOffset = 16;
};

template <class V>
struct InterleavedQ5_1 : InterleavedFiveBits<V, BlockQ5_1> {
  using InterleavedFiveBits<V, BlockQ5_1>::InterleavedFiveBits;
  static constexpr bool kHasMinimum = true;

  typename V::Float minimum(size_t /*sub_block*/) const {
    return this->half_at(offsetof(BlockQ5_1, minimum));
  }
};

template <class V>
struct InterleavedQ8_0 : InterleavedBlocks<V, BlockQ8_0> {
  using InterleavedBlocks<V, BlockQ8_0>::InterleavedBlocks;
  using Sum = StepSum<typename V::SignedDot, 8>;
  static constexpr size_t kWidth = 32;
  static constexpr bool kSharesBytes = false;
  static constexpr int32_t kOffset = V::kSignedOffset;

  typename V::Float scale(size_t /*sub_block*/) const {
    return this->half_at(offsetof(BlockQ8_0, scale));
  }
  template <size_t Step>
  typename V::Signed unpack(size_t /*part*/) const {
    return unpack(Step);
  }
  typename V::Signed unpack(size_t step) const {
    return V::as_signed(this->bytes_at(offsetof(BlockQ8_0, codes) + 4 * step));
  }
};

template <class V>
struct InterleavedIQ4_NL : InterleavedNibbles<V, BlockIQ4_NL> {
  using InterleavedNibbles<V, BlockIQ4_NL>::InterleavedNibbles;
  using Sum = StepSum<typename V::SignedDot, 8>;
  static constexpr int32_t kOffset = V::kSignedOffset;

  template <size_t Step>
  typename V::Signed unpack(size_t /*part*/) const {
    return V::as_signed(V::look_up(kIq4Values, this->template codes<Step>()));
  }
};

template <class V>
struct InterleavedMXFP4 : InterleavedNibbles<V, BlockMXFP4> {
  using InterleavedNibbles<V, BlockMXFP4>::InterleavedNibbles;
  using Sum = StepSum<typename V::NibbleDot, 4>;
  static constexpr int32_t kOffset = 12;
  // kMxfp4Values + kOffset: unsigned codes, which can be multiplied like nibbles.
  static constexpr int8_t kValues[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

  typename V::Float scale(size_t /*sub_block*/) const {
    const auto exponents = V::load_int8(this->unit(offsetof(BlockMXFP4, exponent)));
    return V::mul(V::power_of_two(exponents), V::splat(0.5f));
  }
  template <size_t Step>
  typename V::Unsigned unpack(size_t /*part*/) const {
    return V::as_unsigned(V::look_up(kValues, this->template codes<Step>()));
  }
};

// --- A float scale for every 16 columns ----------------------------------------------------------

template <class V>
struct InterleavedNVFP4 : InterleavedBlocks<V, BlockNVFP4> {
  using Base = InterleavedBlocks<V, BlockNVFP4>;
  using Int = typename V::Int;
  using Dot = typename V::NibbleDot;  // sums 4 steps
  static constexpr int32_t kOffset = InterleavedMXFP4<V>::kOffset;
  using Base::Base;

  // See BlockNVFP4::scale().
  typename V::Float scale(size_t sub_block) const {
    const Int code = V::bit_and(V::load_int8(this->unit(sub_block)), V::splat_int(0x7f));
    // All bits set, but 0 for code 0x7f.
    const Int mask = V::sub(V::shift_right(V::add_int(code, V::splat_int(1)), 7), V::splat_int(1));
    const Int number = V::bit_and(code, mask);
    // An integer of up to four bits times a power of two: subnormal floats would take many times as
    // long.
    const Int exponent = V::max_int(V::shift_right(number, 3), V::splat_int(1));
    const Int upper_bits = V::shift_left(V::sub(exponent, V::splat_int(1)), 3);
    const Int power = V::shift_left(V::add_int(exponent, V::splat_int(127 - 11)), 23);
    return V::mul(V::to_float(V::sub(number, upper_bits)), V::as_floats(power));
  }
  template <size_t Step>
  typename V::Unsigned unpack(size_t sub_block) const {
    const auto bytes = this->bytes_at(offsetof(BlockNVFP4, nibbles) + 8 * sub_block + Step % 2 * 4);
    return V::as_unsigned(V::look_up(InterleavedMXFP4<V>::kValues, nibbles<V, (Step >= 2)>(bytes)));
  }
};

// --- Pairs of bits -------------------------------------------------------------------------------

// Codes 0 … 3 with one scale. A byte holds four: pair k is in bits 2 k and 2 k + 1.
template <class V, class B>
struct InterleavedPairs : InterleavedBlocks<V, B> {
  using InterleavedBlocks<V, B>::InterleavedBlocks;

  typename V::Float scale() const { return this->half_at(offsetof(B, scale)); }
  // Returns pair Pair of the unit's bytes. Odd pairs stay four times as large: then two pairs need
  // only one shift.
  template <size_t Pair>
  typename V::Unsigned unpack(size_t unit) const {
    const auto bytes = this->bytes_at(offsetof(B, pairs) + 4 * unit);
    constexpr int kShift = Pair < 2 ? 0 : -4;
    constexpr int kMask = Pair % 2 == 0 ? 0x03 : 0x0c;
    return V::as_unsigned(V::template move_bits<kShift, kMask>(bytes));
  }
};

// Pair k of units 8 h … 8 h + 7 has the 32 columns of part 4 h + k.
template <class V>
struct InterleavedTQ2_0 : InterleavedPairs<V, BlockTQ2_0> {
  using InterleavedPairs<V, BlockTQ2_0>::InterleavedPairs;
  static constexpr bool kUnitsHoldOnePart = false;
};

// Packing rearranges the pairs of a unit (see code_order.cpp): pair k of unit u has columns
// 16 u + 4 k … 16 u + 4 k + 3.
template <class V>
struct InterleavedQ2_0 : InterleavedPairs<V, BlockQ2_0> {
  using InterleavedPairs<V, BlockQ2_0>::InterleavedPairs;
  static constexpr bool kUnitsHoldOnePart = true;
};
template <class V>
struct InterleavedPQ2_0 : InterleavedPairs<V, BlockPQ2_0> {
  using InterleavedPairs<V, BlockPQ2_0>::InterleavedPairs;
  static constexpr bool kUnitsHoldOnePart = true;
};

// --- Digits in base 3 ----------------------------------------------------------------------------

// A run of n_bytes bytes that hold n_digits codes each: digit i of byte j is column
// first_column + i * n_bytes + j.
struct DigitRun {
  size_t first_byte;
  size_t n_bytes;
  size_t n_digits;
  size_t first_column;
};

template <class V>
struct InterleavedTQ1_0 : InterleavedBlocks<V, BlockTQ1_0> {
  using InterleavedBlocks<V, BlockTQ1_0>::InterleavedBlocks;
  static constexpr DigitRun kRuns[] = {{0, 32, 5, 0}, {32, 16, 5, 160}, {48, 4, 4, 240}};
  static constexpr size_t kPairSteps = 0;
};

// Packing converts the last eight codes to bit pairs.
template <class V>
struct InterleavedPTQ1_0 : InterleavedBlocks<V, BlockPTQ1_0> {
  using InterleavedBlocks<V, BlockPTQ1_0>::InterleavedBlocks;
  static constexpr DigitRun kRuns[] = {{0, 16, 5, 0}, {16, 8, 5, 80}};
  static constexpr size_t kPairSteps = 2;

  template <size_t Step>
  typename V::Unsigned unpack_pairs() const {
    const auto word = V::load_int16(this->unit(offsetof(BlockPTQ1_0, fours)));
    const auto pairs = InterleavedPTQ1_0::field(word, 8 * Step, 0xff);
    const auto two = V::bit_or(pairs, V::shift_left(pairs, 6));
    const auto four = V::bit_or(two, V::shift_left(two, 12));
    return V::as_unsigned(V::bit_and(four, V::splat_int(0x03030303)));
  }
};

// --- A scale for eight sub-blocks of 32 columns --------------------------------------------------

template <class V>
struct InterleavedIQ4_XS : InterleavedBlocks<V, BlockIQ4_XS> {
  using Base = InterleavedBlocks<V, BlockIQ4_XS>;
  using Sum = StepSum<typename V::SignedDot, 8>;
  static constexpr size_t kWidth = 32;
  static constexpr int32_t kOffset = V::kSignedOffset;
  using Base::Base;

  typename V::Float scale(size_t sub_block) const {
    const auto nibbles = this->bytes_at(offsetof(BlockIQ4_XS, scale_nibbles));
    const auto pairs = V::load_int16(this->unit(offsetof(BlockIQ4_XS, scale_pairs)));
    const auto low = Base::field(nibbles, 4 * sub_block, 0x0f);
    const auto high = V::mul_int(Base::field(pairs, 2 * sub_block, 0x03), V::splat_int(16));
    const auto scale = V::sub(V::add_int(low, high), V::splat_int(32));
    return V::mul(this->half_at(offsetof(BlockIQ4_XS, scale)), V::to_float(scale));
  }
  template <size_t Step>
  typename V::Signed unpack(size_t part) const {
    const auto bytes = this->bytes_at(offsetof(BlockIQ4_XS, nibbles) + 16 * part + Step % 4 * 4);
    return V::as_signed(V::look_up(kIq4Values, nibbles<V, (Step >= 4)>(bytes)));
  }
};

// Two neighbouring sub-blocks share bytes and are unpacked together.
template <class V, class Block>
struct InterleavedScalesAndMinima : InterleavedBlocks<V, Block> {
  using Base = InterleavedBlocks<V, Block>;
  using Float = typename V::Float;
  using Int = typename V::Int;
  static constexpr size_t kWidth = 64;
  static constexpr bool kHasMinimum = true;

  // The scales of each row's block, and its ScalesAndMinima as three words per row.
  Float block_scale;
  Float block_minimum;
  Int a;
  Int b;
  Int c;

  InterleavedScalesAndMinima() = default;
  explicit InterleavedScalesAndMinima(const std::byte* interleaved)
      : Base(interleaved),
        block_scale(this->half_at(offsetof(Block, scale))),
        block_minimum(V::mul(this->half_at(offsetof(Block, minimum_scale)), V::splat(-1.0f))),
        a(this->bytes_at(offsetof(Block, scales))),
        b(this->bytes_at(offsetof(Block, scales) + 4)),
        c(this->bytes_at(offsetof(Block, scales) + 8)) {}

  Float scale(size_t i) const {
    const Int scale =
        i < 4 ? Base::field(a, 8 * i, 0x3f)
              : V::bit_or(Base::field(c, 8 * (i - 4), 0x0f), Base::field(a, 8 * (i - 4) + 2, 0x30));
    return V::mul(block_scale, V::small_to_float(scale));
  }
  Float minimum(size_t i) const {
    const Int minimum = i < 4 ? Base::field(b, 8 * i, 0x3f)
                              : V::bit_or(Base::field(c, 8 * (i - 4) + 4, 0x0f),
                                          Base::field(b, 8 * (i - 4) + 2, 0x30));
    return V::mul(block_minimum, V::small_to_float(minimum));
  }
};

template <class V>
struct InterleavedQ4_K : InterleavedScalesAndMinima<V, BlockQ4_K> {
  using InterleavedScalesAndMinima<V, BlockQ4_K>::InterleavedScalesAndMinima;
  using Sum = StepSum<typename V::NibbleDot, V::kNibbleSteps>;

  template <size_t Step>
  typename V::Unsigned unpack(size_t part) const {
    return unpack_step<(Step >= 8)>(part, Step % 8);
  }
  // Step `step` of the first or the second sub-block of `part`.
  template <bool kSecond>
  typename V::Unsigned unpack_step(size_t part, size_t step) const {
    const auto bytes = this->bytes_at(offsetof(BlockQ4_K, nibbles) + 32 * part + 4 * step);
    return V::as_unsigned(nibbles<V, kSecond>(bytes));
  }
};

template <class V>
struct InterleavedQ5_K : InterleavedScalesAndMinima<V, BlockQ5_K> {
  using InterleavedScalesAndMinima<V, BlockQ5_K>::InterleavedScalesAndMinima;
  using Sum = StepSum<typename V::NibbleDot, 4>;

  template <size_t Step>
  typename V::Unsigned unpack(size_t part) const {
    return unpack_step<(Step >= 8)>(part, Step % 8);
  }
  template <bool kSecond>
  typename V::Unsigned unpack_step(size_t part, size_t step) const {
    const auto bytes = this->bytes_at(offsetof(BlockQ5_K, nibbles) + 32 * part + 4 * step);
    // The shift moves bits 2 part and 2 part + 1 of every byte to bits 0 and 1.
    const auto fifth = V::shift_right(this->bytes_at(offsetof(BlockQ5_K, high_bits) + 4 * step),
                                      static_cast<uint32_t>(2 * part));
    return V::as_unsigned(V::bit_or(nibbles<V, kSecond>(bytes),
                                    V::template move_bits < kSecond ? 3 : 4, 0x10 > (fifth)));
  }
};

// --- A whole-number scale for every 16 columns ---------------------------------------------------

// Packing orders the units of codes as they are read (see code_order.cpp).
template <class V>
struct InterleavedQ6_K : InterleavedBlocks<V, BlockQ6_K> {
  using InterleavedBlocks<V, BlockQ6_K>::InterleavedBlocks;
  using Dot = typename V::UnsignedDot;
  static constexpr int32_t kOffset = 32;

  typename V::Float scale() const { return this->half_at(offsetof(BlockQ6_K, scale)); }
  typename V::Int sub_scale(size_t i) const {
    return V::load_int8(this->unit(offsetof(BlockQ6_K, scales) + i));
  }
  template <size_t Quarter>
  typename V::Unsigned unpack(size_t half, size_t unit) const {
    const size_t three_units = offsetof(BlockQ6_K, low_nibbles) + 96 * half + 12 * unit;
    const auto bytes = this->bytes_at(three_units + (Quarter % 2 == 0 ? 0 : 8));
    const auto pairs = this->bytes_at(three_units + 4);
    return V::as_unsigned(V::bit_or(nibbles<V, (Quarter >= 2)>(bytes),
                                    V::template move_bits<4 - 2 * int{Quarter}, 0x30>(pairs)));
  }
};

template <class V>
struct InterleavedQ3_K : InterleavedBlocks<V, BlockQ3_K> {
  using Base = InterleavedBlocks<V, BlockQ3_K>;
  using Dot = typename V::NibbleDot;
  static constexpr int32_t kOffset = 4;
  using Base::Base;

  typename V::Float scale() const { return this->half_at(offsetof(BlockQ3_K, scale)); }
  typename V::Int sub_scale(size_t i) const {
    const auto low_words = this->bytes_at(offsetof(BlockQ3_K, scales) + i % 8 / 4 * 4);
    const auto high_words = this->bytes_at(offsetof(BlockQ3_K, scales) + 8);
    const auto low = Base::field(low_words, i % 4 * 8 + i / 8 * 4, 0x0f);
    const auto high = Base::field(high_words, i % 4 * 8 + i / 4 * 2, 0x03);
    return V::sub(V::add_int(low, V::mul_int(high, V::splat_int(16))), V::splat_int(32));
  }
  template <size_t Quarter>
  typename V::Unsigned unpack(size_t half, size_t unit) const {
    const auto pairs = this->bytes_at(offsetof(BlockQ3_K, pairs) + 32 * half + 4 * unit);
    // The shift moves bit 4 half + Quarter of every byte to bit Quarter; move_bits() then moves it
    // to bit 2.
    const auto third = V::shift_right(this->bytes_at(offsetof(BlockQ3_K, high_bits) + 4 * unit),
                                      static_cast<uint32_t>(4 * half));
    return V::as_unsigned(V::bit_or(V::template move_bits<-2 * int{Quarter}, 0x03>(pairs),
                                    V::template move_bits<2 - int{Quarter}, 0x04>(third)));
  }
};

template <class V>
struct InterleavedQ2_K : InterleavedBlocks<V, BlockQ2_K> {
  using Base = InterleavedBlocks<V, BlockQ2_K>;
  using Dot = typename V::NibbleDot;
  static constexpr bool kHasMinimum = true;
  using Base::Base;

  typename V::Float scale() const { return this->half_at(offsetof(BlockQ2_K, scale)); }
  typename V::Float minimum_scale() const {
    return this->half_at(offsetof(BlockQ2_K, minimum_scale));
  }
  typename V::Int sub_scale(size_t i) const { return Base::field(scales(i), 0, 0x0f); }
  typename V::Int sub_minimum(size_t i) const { return Base::field(scales(i), 4, 0x0f); }
  template <size_t Quarter>
  typename V::Unsigned unpack(size_t half, size_t unit) const {
    const auto pairs = this->bytes_at(offsetof(BlockQ2_K, pairs) + 32 * half + 4 * unit);
    return V::as_unsigned(V::template move_bits<-2 * int{Quarter}, 0x03>(pairs));
  }

 private:
  typename V::Int scales(size_t i) const {
    return V::load_int8(this->unit(offsetof(BlockQ2_K, scales) + i));
  }
};

// --- Codebook types in memory --------------------------------------------------------------------

// Looks up codes in a table and prepares the values for sums: as numbers without signs, with the
// largest value as their offset, where sums take seven bits.
template <class V, const int8_t (&kValues)[16]>
struct ValueTable {
  struct Values {
    int8_t values[16];
  };
  static constexpr int8_t kLargest = *std::max_element(std::begin(kValues), std::end(kValues));
  static constexpr int32_t kOffset = V::kSumsSevenBits ? kLargest : V::kSignedOffset;
  static constexpr Values kTable = [] {
    Values table{};
    for (size_t i = 0; i < 16; ++i) {
      table.values[i] = static_cast<int8_t>(kValues[i] + (V::kSumsSevenBits ? kLargest : 0));
    }
    return table;
  }();

  static auto look_up(typename V::Bytes codes) {
    const auto values = V::look_up(kTable.values, codes);
    if constexpr (V::kSumsSevenBits) {
      return V::as_unsigned(values);
    } else {
      return V::as_signed(values);
    }
  }
};
template <class V>
using SevenBitDot =
    std::conditional_t<V::kSumsSevenBits, typename V::UnsignedDot, typename V::SignedDot>;

// 2 s + 1 for the four bits of s from `first` on of a word of each row.
template <class V>
typename V::Int odd_field(typename V::Int words, size_t first, int32_t mask = 0x0f) {
  const auto s = InterleavedBlocks<V, CodedIQ3>::field(words, first, mask);
  return V::add_int(V::add_int(s, s), V::splat_int(1));
}

// Returns the bits of every byte from `first` on.
template <class V>
typename V::Bytes bits_of(typename V::Bytes bytes, size_t first, int32_t mask) {
  return InterleavedBlocks<V, CodedIQ3>::field(bytes, first, mask * 0x01010101);
}

// 32 columns of IQ3, for PartDot.
template <class V, const int8_t (&kValues)[16]>
struct Iq3Part {
  typename V::Bytes bytes[4];
  typename V::Int scales[1];

  template <size_t Step>
  auto unpack() const {
    return ValueTable<V, kValues>::look_up(nibbles<V, (Step >= 4)>(bytes[Step % 4]));
  }
};

template <class V, class Block>
struct InterleavedIQ3 : InterleavedBlocks<V, Block> {
  using Base = InterleavedBlocks<V, Block>;
  static constexpr int32_t kOffset = ValueTable<V, Block::kValues>::kOffset;
  static constexpr size_t kSubBlocks = 1;
  typename V::Int scales;

  explicit InterleavedIQ3(const std::byte* interleaved)
      : Base(interleaved), scales(this->bytes_at(offsetof(CodedIQ3, scales))) {}

  typename V::Float scale() const {
    return V::mul(this->half_at(offsetof(CodedIQ3, scale)), V::splat(Block::kFactor));
  }
  Iq3Part<V, Block::kValues> next_part(size_t i) {
    Iq3Part<V, Block::kValues> part;
    for (size_t j = 0; j < 4; ++j) {
      part.bytes[j] = this->bytes_at(offsetof(CodedIQ3, nibbles) + 16 * i + 4 * j);
    }
    part.scales[0] = odd_field<V>(scales, 0);
    scales = V::shift_right(scales, 4);
    return part;
  }
};

template <class V>
struct InterleavedIQ3_XXS : InterleavedIQ3<V, CodedIQ3_XXS> {
  using InterleavedIQ3<V, CodedIQ3_XXS>::InterleavedIQ3;
  using Dot = SevenBitDot<V>;
  static constexpr size_t kDots = 1;
};

// Values 0 to 30, which can be multiplied like nibbles.
template <class V>
struct InterleavedIQ3_S : InterleavedIQ3<V, CodedIQ3_S> {
  using InterleavedIQ3<V, CodedIQ3_S>::InterleavedIQ3;
  using Dot = typename V::NibbleDot;
  static constexpr size_t kDots = 2;
};

// The values of codes of IQ2 in nibbles. In those of even steps, bit 3 belongs to another code; in
// those of odd steps, it is the code's high bit.
struct NibblesIQ2 {
  static constexpr int8_t kEven[16] = {8, 25, -8, -25, 43, 0, -43, 0,
                                       8, 25, -8, -25, 43, 0, -43, 0};
  static constexpr int8_t kOdd[16] = {8, 25, -8, -25, 0, 0, 0, 0, 43, 0, -43, 0, 0, 0, 0, 0};
};

// 32 columns of IQ2 (see CodesIQ2), for PartDot.
template <class V, size_t kSubBlocks>
struct Iq2Part {
  using Bytes = typename V::Bytes;
  Bytes even[2];
  Bytes odd;
  typename V::Int scales[kSubBlocks];

  template <size_t Step>
  auto unpack() const {
    constexpr bool kHigh = Step % 4 >= 2;
    if constexpr (Step % 2 == 0) {
      return ValueTable<V, NibblesIQ2::kEven>::look_up(nibbles<V, kHigh>(even[Step / 4]));
    } else {
      constexpr int kPair = 4 * int{kHigh} + 2 * int{Step >= 4};
      const Bytes high_bit = V::template move_bits < kHigh ? -4 : 0, 0x08 > (even[Step / 4]);
      return ValueTable<V, NibblesIQ2::kOdd>::look_up(
          V::bit_or(V::template move_bits<-kPair, 0x03>(odd), high_bit));
    }
  }
};

template <class V>
struct InterleavedIQ2 : InterleavedBlocks<V, CodedIQ2> {
  using Base = InterleavedBlocks<V, CodedIQ2>;
  using Dot = SevenBitDot<V>;
  static constexpr int32_t kOffset = ValueTable<V, NibblesIQ2::kEven>::kOffset;
  static constexpr size_t kSubBlocks = 2;
  static constexpr size_t kDots = 2;
  typename V::Int scales = V::splat_int(0);  // those of the next parts come first
  using Base::Base;

  typename V::Float scale() const {
    return V::mul(this->half_at(offsetof(CodedIQ2, scale)), V::splat(CodesIQ2::kFactor));
  }
  Iq2Part<V, 2> next_part(size_t i) {
    if (i % 4 == 0) scales = this->bytes_at(offsetof(CodedIQ2, scales) + i);
    const size_t words = offsetof(CodedIQ2, words) + 12 * i;
    const Iq2Part<V, 2> part{{this->bytes_at(words), this->bytes_at(words + 4)},
                             this->bytes_at(words + 8),
                             {odd_field<V>(scales, 0), odd_field<V>(scales, 4)}};
    scales = V::shift_right(scales, 8);
    return part;
  }
};

template <class V>
struct InterleavedIQ2_XXS : InterleavedBlocks<V, CodedIQ2_XXS> {
  using Base = InterleavedBlocks<V, CodedIQ2_XXS>;
  using Bytes = typename V::Bytes;
  using Dot = SevenBitDot<V>;
  static constexpr int32_t kOffset = ValueTable<V, NibblesIQ2::kEven>::kOffset;
  static constexpr bool kSharesBytes = false;  // not steps i and i + 4
  static constexpr size_t kSubBlocks = 1;
  static constexpr size_t kDots = 1;
  Bytes last_even = V::splat_int(0);  // the last sub-block's second word, as far as it was read
  using Base::Base;

  typename V::Float scale() const {
    return V::mul(this->half_at(offsetof(CodedIQ2_XXS, scale)), V::splat(CodesIQ2::kFactor));
  }
  Iq2Part<V, 1> next_part(size_t i) {
    const size_t words = offsetof(CodedIQ2_XXS, words) + 12 * i;
    const bool is_last = i == 7;
    Iq2Part<V, 1> part;
    part.even[0] = this->bytes_at(words);
    const Bytes odd = this->bytes_at(words + (is_last ? 4 : 8));
    last_even = V::bit_or(V::shift_right(last_even, 4),
                          V::bit_and(odd, V::splat_int(static_cast<int32_t>(0xf0000000))));
    part.even[1] = is_last ? last_even : this->bytes_at(words + 4);
    part.scales[0] = odd_field<V>(odd, 24);
    // The bits that make the numbers of set bits even.
    const Bytes own = V::bit_and(odd, V::splat_int(0x00ffffff));
    Bytes parity = V::bit_xor(V::template move_bits<0, 0x33>(part.even[0]),
                              V::shift_left(V::template move_bits<0, 0x33>(part.even[1]), 2));
    parity = V::bit_xor(parity, own);
    parity = V::bit_xor(parity, V::shift_left(parity, 16));
    parity = V::bit_xor(parity, V::shift_left(parity, 8));
    part.odd = V::bit_or(own, V::bit_and(parity, V::splat_int(static_cast<int32_t>(0xff000000))));
    return part;
  }
};

// The codes are 8 * pair + 2 * positive.
template <class V, class Block>
struct InterleavedIQ1 : InterleavedBlocks<V, Block> {
  using Base = InterleavedBlocks<V, Block>;
  using Dot = typename V::NibbleDot;
  static constexpr int32_t kOffset = Block::kOffset;
  using Base::Base;

  typename V::Float scale() const {
    return V::mul(this->half_at(offsetof(Block, scale)), V::splat(Block::kFactor));
  }

 protected:
  template <size_t Quarter>
  typename V::Bytes shifted_pairs(size_t half, size_t unit) const {
    return V::template move_bits<3 - 2 * int{Quarter}, 0x18>(pairs(half, unit));
  }
  // The code of any quarter, whose lower bits are given as 0 or 1.
  typename V::Unsigned any_code(size_t half, size_t unit, size_t quarter,
                                typename V::Bytes positive) const {
    const auto shifted = V::shift_left(bits_of<V>(pairs(half, unit), 2 * quarter, 0x03), 3);
    return V::as_unsigned(V::bit_or(shifted, V::add_int(positive, positive)));
  }

 private:
  typename V::Bytes pairs(size_t half, size_t unit) const {
    return this->bytes_at(offsetof(Block, pairs) + 32 * half + 4 * unit);
  }
};

template <class V>
struct InterleavedIQ1_S : InterleavedIQ1<V, CodedIQ1_S> {
  using Base = InterleavedIQ1<V, CodedIQ1_S>;
  using Base::Base;

  typename V::Int sub_scale(size_t i) const {
    return odd_field<V>(this->bytes_at(offsetof(CodedIQ1_S, scales)), i / 2 * 4, 0x07);
  }
  template <size_t Quarter>
  typename V::Unsigned unpack(size_t half, size_t unit) const {
    const auto positive = this->positive(half, Quarter);
    return V::as_unsigned(V::bit_or(this->template shifted_pairs<Quarter>(half, unit),
                                    V::add_int(positive, positive)));
  }
  typename V::Unsigned unpack_any(size_t half, size_t unit, size_t quarter) const {
    return this->any_code(half, unit, quarter, positive(half, quarter));
  }

 private:
  // 1 in every byte of the rows whose sub-block is shifted up.
  typename V::Bytes positive(size_t half, size_t quarter) const {
    const auto words = this->bytes_at(offsetof(CodedIQ1_S, scales));
    const auto bit = Base::field(words, 16 * half + 4 * quarter + 3, 0x01);
    return V::mul_int(bit, V::splat_int(0x01010101));
  }
};

template <class V>
struct InterleavedIQ1_M : InterleavedIQ1<V, CodedIQ1_M> {
  using Base = InterleavedIQ1<V, CodedIQ1_M>;
  using Base::Base;

  typename V::Int sub_scale(size_t i) const {
    return odd_field<V>(this->bytes_at(offsetof(CodedIQ1_M, scales) + i / 8 * 4), i % 8 * 4, 0x07);
  }
  template <size_t Quarter>
  typename V::Unsigned unpack(size_t half, size_t unit) const {
    return V::as_unsigned(
        V::bit_or(this->template shifted_pairs<Quarter>(half, unit),
                  V::template move_bits<1 - int{Quarter}, 0x02>(positive(half, unit))));
  }
  typename V::Unsigned unpack_any(size_t half, size_t unit, size_t quarter) const {
    return this->any_code(half, unit, quarter, bits_of<V>(positive(half, unit), quarter, 0x01));
  }

 private:
  // In every byte, a bit for each quarter, set for the rows whose group is shifted up.
  typename V::Bytes positive(size_t half, size_t unit) const {
    const auto words = this->bytes_at(offsetof(CodedIQ1_M, positive));
    return V::mul_int(Base::field(words, 16 * half + 4 * (unit / 2), 0x0f),
                      V::splat_int(0x01010101));
  }
};

}  // namespace kinglet
