// What the vectorized kernels demand of a vector type, which each instruction set defines.
//
// A type is in the anonymous namespace of its file, so that each instantiation is private to the
// only translation unit that is compiled with its flags. Below, a "step" multiplies 4 codes of
// every row with the same 4 activations; "words" are 16-bit integers.
//
// Besides, kTokens says how many tokens a tile has (see interleaved_tile.h). A type whose kTokens
// chooses panels also has
//   Words              this type with codes as words, and what panel_matmul.h computes with them
//   PanelVector        the type that panels multiply with: this one, or one with the same Codes,
//                      whose code they can share
//   load_two_steps     the words of the Codes of 8 columns
//   splat_lane         a lane of an Int, copied to all lanes
// and one that scores several keys at once, HalfLength, whole and transpose: see attention.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "kernels/vector/interleaved_tile.h"

namespace kinglet {

// Float and Int are vectors of kLanes floats and 32-bit integers.
template <class V>
concept VectorNumbers = requires(const float* floats, float* out, const void* half,
                                 typename V::Float f, typename V::Int i, float x, int32_t n) {
  { V::kLanes } -> std::convertible_to<size_t>;

  { V::load(floats) } -> std::same_as<typename V::Float>;
  { V::load_half(half) } -> std::same_as<typename V::Float>;     // kLanes halves
  { V::load_twice(floats) } -> std::same_as<typename V::Float>;  // a a b b …
  { V::swap_neighbours(f) } -> std::same_as<typename V::Float>;  // b a d c …
  V::store(out, f);
  { V::splat(x) } -> std::same_as<typename V::Float>;
  { V::add(f, f) } -> std::same_as<typename V::Float>;
  { V::sub_float(f, f) } -> std::same_as<typename V::Float>;
  { V::mul(f, f) } -> std::same_as<typename V::Float>;
  { V::div(f, f) } -> std::same_as<typename V::Float>;
  { V::fma(f, f, f) } -> std::same_as<typename V::Float>;  // a * b + c
  { V::min(f, f) } -> std::same_as<typename V::Float>;     // if an operand is NaN, the first
  { V::max(f, f) } -> std::same_as<typename V::Float>;     // the same
  { V::abs(f) } -> std::same_as<typename V::Float>;
  { V::horizontal_sum(f) } -> std::same_as<float>;
  { V::horizontal_max(f) } -> std::same_as<float>;

  { V::splat_int(n) } -> std::same_as<typename V::Int>;
  { V::add_int(i, i) } -> std::same_as<typename V::Int>;
  { V::sub(i, i) } -> std::same_as<typename V::Int>;
  { V::mul_int(i, i) } -> std::same_as<typename V::Int>;
  { V::max_int(i, i) } -> std::same_as<typename V::Int>;
  { V::and_ints(i, i) } -> std::same_as<typename V::Int>;
  { V::shift_left(i, 1) } -> std::same_as<typename V::Int>;
  { V::shift_right(i, 1u) } -> std::same_as<typename V::Int>;  // fills with zeros
  { V::horizontal_sum_int(i) } -> std::same_as<int32_t>;
  { V::horizontal_max_int(i) } -> std::same_as<int32_t>;

  { V::to_int(f) } -> std::same_as<typename V::Int>;        // rounds to nearest
  { V::to_small_int(f) } -> std::same_as<typename V::Int>;  // the same for |x| < 2^22
  { V::to_float(i) } -> std::same_as<typename V::Float>;
  { V::small_to_float(i) } -> std::same_as<typename V::Float>;   // the same for 0 <= x < 2^23
  { V::as_ints(f) } -> std::same_as<typename V::Int>;            // the same bits
  { V::as_floats(i) } -> std::same_as<typename V::Float>;        // the same bits
  { V::power_of_two(i) } -> std::same_as<typename V::Float>;     // see BlockMXFP4's exponents
  { V::add_exponent(f, f) } -> std::same_as<typename V::Float>;  // see VectorMath::exp()
};

// Bytes are 4 bytes of each of kLanes rows, in the packed layout. Codes are 4 quantized
// activations. If loading them into all rows costs more than loading a vector, they are repeated to
// fill one, and so are kCopies of the other numbers of an ActivationBlock.
template <class V>
concept VectorCodes = requires(const std::byte* bytes, typename V::Bytes b, typename V::Int i,
                               const float (&numbers)[V::kCopies],
                               const int32_t (&ints)[V::kCopies], const int8_t (&table)[16],
                               typename V::Codes& codes) {
  { V::broadcast(numbers) } -> std::same_as<typename V::Float>;  // into every lane
  { V::broadcast_int(ints) } -> std::same_as<typename V::Int>;   // the same
  V::store_codes(codes.codes, i);                                // of kLanes activations

  { V::load_bytes(bytes) } -> std::same_as<typename V::Bytes>;
  { V::load_int8(bytes) } -> std::same_as<typename V::Int>;   // kLanes bytes with signs
  { V::load_int16(bytes) } -> std::same_as<typename V::Int>;  // kLanes words
  { V::template move_bits<-4, 0x0f>(b) } -> std::same_as<typename V::Bytes>;
  { V::look_up(table, b) } -> std::same_as<typename V::Bytes>;  // table[i] for every byte i < 16
  { V::bit_or(b, b) } -> std::same_as<typename V::Bytes>;
  { V::bit_and(b, b) } -> std::same_as<typename V::Bytes>;
  { V::bit_xor(b, b) } -> std::same_as<typename V::Bytes>;
};

// Dot products of codes with activations. A sum is made by its default constructor; add(weights,
// Codes) adds a step, sum() gives the kLanes sums. If it has kConstantSteps, add<I>(weights,
// Codes*) adds step I of up to 8; steps with the same I / 4 are added in order.
template <class V>
concept VectorDots = requires(typename V::Bytes b, typename V::NibbleDot nibbles,
                              typename V::UnsignedDot codes, typename V::SignedDot signs) {
  { V::as_unsigned(b) } -> std::same_as<typename V::Unsigned>;  // codes prepared for sums
  { V::as_signed(b) } -> std::same_as<typename V::Signed>;      // plus kSignedOffset
  { V::kSignedOffset } -> std::convertible_to<int32_t>;
  // Sums at most 8 steps of codes 0..15, or 4 of codes 0..31; more may overflow.
  { nibbles.sum() } -> std::same_as<typename V::Int>;
  // Sums at most 4 steps of codes 0..63; more may overflow.
  { codes.sum() } -> std::same_as<typename V::Int>;
  // Whether it sums any number of steps of codes 0..127.
  { V::kSumsSevenBits } -> std::convertible_to<bool>;
  // Sums any even number of steps of codes -127..127.
  { signs.sum() } -> std::same_as<typename V::Int>;

  { V::kTokens } -> std::convertible_to<TileTokens>;
  // Steps of codes 0..15 in one sum: 4 or 8.
  { V::kNibbleSteps } -> std::convertible_to<size_t>;
  // Whether there are so few registers that tiles of bytes loop over their steps instead of
  // unrolling them. Sub-blocks of 16 columns do, too, for a single token, and only two of a half's
  // four quarters are summed together.
  { V::kRollSteps } -> std::convertible_to<bool>;
  // Whether two sub-blocks of 32 columns that share bytes loop over their steps, for one token.
  { V::kRollNibbles } -> std::convertible_to<bool>;
};

// Tables of sums: see table_matmul.h.
template <class V>
concept VectorTables = requires(const std::byte* bytes, typename V::Bytes b, typename V::Int i,
                                typename V::Int (&words)[2], int8_t* codes, int16_t* sums,
                                const typename V::Int (&sixteen)[16 / V::kLanes]) {
  // A byte of each of 32 rows, or of as many rows as a vector has bytes.
  { V::load_row_bytes(bytes, size_t{0}) } -> std::same_as<typename V::Bytes>;
  { V::add_bytes(b, b) } -> std::same_as<typename V::Bytes>;
  { V::carries_of_3(b) } -> std::same_as<typename V::Bytes>;  // 3 x / 256 for every byte x
  V::widen_bytes(b, words);
  { V::add_words(i, i) } -> std::same_as<typename V::Int>;
  { V::template shift_words<1>(i) } -> std::same_as<typename V::Int>;
  V::store_vector(sums, i);
  V::store_16_bytes(codes, sixteen);
};

// Attention: see attention.h. Words are those of queries and of keys and values; a "pair" has the
// words of two positions side by side.
template <class V>
concept VectorAttentionWords = requires(const std::byte* bytes, const int16_t* query,
                                        int16_t* words, typename V::Int i, typename V::Int* out,
                                        typename V::Float f, typename V::Float* floats,
                                        float* sums) {
  { V::kPairVectors } -> std::convertible_to<size_t>;
  { V::kQueryRows } -> std::convertible_to<size_t>;
  { V::load_ints(query) } -> std::same_as<typename V::Int>;
  { V::dot_words(i, i, i) } -> std::same_as<typename V::Int>;  // sums + products of neighbours
  { V::load_words(bytes) } -> std::same_as<typename V::Int>;
  V::load_nibble_words(bytes, out);
  V::load_pairs(bytes, bytes, out);
  V::load_nibble_pairs(bytes, bytes, out);
  V::interleave(f, f, floats);
  V::store_sums(floats, sums);  // the sums of 4 vectors
  V::store_words(words, i);
};

template <class V>
concept VectorType = VectorNumbers<V> && VectorCodes<V> && VectorDots<V> && VectorTables<V> &&
    VectorAttentionWords<V>;

}  // namespace kinglet
