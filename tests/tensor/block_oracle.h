// Reads the value of one weight of a block bit by bit, from the definition of its format: byte
// offsets and bit positions as in ggml-common.h and its comments, arithmetic in doubles. It shares
// only the codebooks' lists with the decoders.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tensor/codebooks.h"
#include "tensor/dtype.h"

namespace kinglet {

class BlockOracle {
 public:
  BlockOracle(DType type, const std::byte* block) : type_(type), block_(block) {}

  // Exact: no format's value needs more than the 53 bits of a double.
  double weight(size_t i) const {
    switch (type_) {
      case DType::q4_0:
        return half(0) * (nibble32(2, i) - 8.0);
      case DType::q4_1:
        return half(0) * nibble32(4, i) + half(2);
      case DType::q5_0:
        return half(0) * (nibble32(6, i) + 16.0 * bit(2, i) - 16.0);
      case DType::q5_1:
        return half(0) * (nibble32(8, i) + 16.0 * bit(4, i)) + half(2);
      case DType::q8_0:
        return half(0) * signed_byte(2 + i);
      case DType::q2_k:
        return half(80) * bits(i / 16, 0, 4) * pair(16, i) - half(82) * bits(i / 16, 4, 4);
      case DType::q3_k:
        return half(108) * (q3_k_scale(i / 16) - 32.0) *
               (pair(32, i) + (bits(i % 32, i / 32, 1) != 0 ? 0.0 : -4.0));
      case DType::q4_k:
        return half(0) * k_scale(i / 32) * nibble64(16, i) - half(2) * k_minimum(i / 32);
      case DType::q5_k:
        return half(0) * k_scale(i / 32) * (nibble64(48, i) + 16.0 * bits(16 + i % 32, i / 32, 1)) -
               half(2) * k_minimum(i / 32);
      case DType::q6_k:
        return half(208) * signed_byte(192 + i / 16) * (q6_k_code(i) - 32.0);
      case DType::iq4_nl:
        return half(0) * iq4_value(nibble32(2, i));
      case DType::iq4_xs:
        return half(0) * (iq4_xs_scale(i / 32) - 32.0) *
               iq4_value(nibble32(8 + i / 32 * 16, i % 32));
      case DType::mxfp4:
        return std::ldexp(e2m1(nibble32(1, i)), bits(0, 0, 8) - 127);
      case DType::tq1_0:
        return half(52) * (tq1_digit(i) - 1.0);
      case DType::tq2_0:
        return half(64) * (pair(0, i) - 1.0);
      case DType::iq1_s: {
        const int word = bits(34 + i / 32 * 2, 0, 16);
        const int number = bits(2 + i / 8, 0, 8) + 256 * (word / (1 << 3 * (i / 8 % 4)) % 8);
        const double delta = word >= 0x8000 ? -0.125 : 0.125;
        return half(0) * (2 * (word / 0x1000 % 8) + 1) *
               (digit(iq1_codebook(), number, i % 8, 8) - 1.0 + delta);
      }
      case DType::iq1_m: {
        const int high = bits(32 + i / 16, i / 8 % 2 * 4, 4);
        const int number = bits(i / 8, 0, 8) + 256 * (high % 8);
        const int s = bits(48 + i / 64 * 2, i / 16 % 4 * 3, 3);
        const int scale = bits(49, 4, 4) + 0x10 * bits(51, 4, 4) + 0x100 * bits(53, 4, 4) +
                          0x1000 * bits(55, 4, 4);
        const double delta = high >= 8 ? -0.125 : 0.125;
        return half_value(scale) * (2 * s + 1) *
               (digit(iq1_codebook(), number, i % 8, 8) - 1.0 + delta);
      }
      case DType::iq2_xxs: {
        const size_t at = 2 + i / 32 * 8;
        const int number = bits(at + i / 8 % 4, 0, 8);
        return half(0) * (bits(at + 4, 28, 4) + 0.5) / 4 * even_sign(at + 4, i / 8 % 4 * 7, i % 8) *
               iq2_value(digit(iq2_xxs_codebook(), number, i % 8, 8));
      }
      case DType::iq2_xs: {
        const size_t at = 2 + i / 8 * 2;
        return half(0) * (bits(66, i / 16 * 4, 4) + 0.5) / 4 * even_sign(at, 9, i % 8) *
               iq2_value(digit(iq2_xs_codebook(), bits(at, 0, 9), i % 8, 8));
      }
      case DType::iq2_s: {
        const int number = bits(2 + i / 8, 0, 8) + 256 * bits(66, i / 8 * 2, 2);
        return half(0) * (bits(74, i / 16 * 4, 4) + 0.5) / 4 * (bit(34, i) != 0 ? -1 : 1) *
               iq2_value(digit(iq2_s_codebook(), number, i % 8, 8));
      }
      case DType::iq3_xxs: {
        const size_t at = 66 + i / 32 * 4;
        const int number = bits(2 + i / 4, 0, 8);
        return half(0) * (bits(at, 28, 4) + 0.5) / 2 * even_sign(at, i / 8 % 4 * 7, i % 8) *
               iq3_xxs_value(digit(iq3_xxs_codebook(), number, i % 4, 4));
      }
      case DType::iq3_s: {
        const int number = bits(2 + i / 4, 0, 8) + 256 * bit(66, i / 4);
        return half(0) * (2 * bits(106, i / 32 * 4, 4) + 1) * (bit(74, i) != 0 ? -1 : 1) *
               (2 * digit(iq3_s_codebook(), number, i % 4, 4) + 1);
      }
      case DType::nvfp4:
        return ue4m3(i / 16) * e2m1(bits(4 + i / 16 * 8 + i % 8, i % 16 / 8 * 4, 4));
      case DType::q1_0:
        return half(0) * (bit(2, i) != 0 ? 1 : -1);
      case DType::q2_0:
      case DType::pq2_0:
        return half(0) * (bits(2, 2 * i, 2) - 1.0);
      case DType::ptq1_0:
        return half(26) * (ptq1_digit(i) - 1.0);
      default:  // floats, and types that are in no file
        break;
    }
    return std::numeric_limits<double>::quiet_NaN();
  }

  // The offsets of the block's binary16 numbers.
  static std::vector<size_t> half_offsets(DType type) {
    switch (type) {
      case DType::q4_1:
      case DType::q5_1:
      case DType::q4_k:
      case DType::q5_k:
        return {0, 2};
      case DType::q2_k:
        return {80, 82};
      case DType::q3_k:
        return {108};
      case DType::q6_k:
        return {208};
      case DType::tq1_0:
        return {52};
      case DType::tq2_0:
        return {64};
      case DType::ptq1_0:
        return {26};
      case DType::mxfp4:
      case DType::nvfp4:
      case DType::iq1_m:
        return {};
      default:
        return {0};
    }
  }

 private:
  // Bit `i` of the bit string that begins at a byte.
  int bit(size_t byte, size_t i) const {
    return static_cast<int>(block_[byte + i / 8] >> static_cast<int>(i % 8) & std::byte{1});
  }

  int bits(size_t byte, size_t first, size_t count) const {
    int number = 0;
    for (size_t i = 0; i < count; ++i) number += bit(byte, first + i) * (1 << i);
    return number;
  }

  int signed_byte(size_t byte) const { return bits(byte, 0, 7) - 128 * bit(byte, 7); }

  static double half_value(int code) {
    const int exponent = code / 1024 % 32;
    const double fraction = code % 1024 / 1024.0;
    double magnitude =
        std::ldexp(exponent == 0 ? fraction : 1 + fraction, exponent == 0 ? -14 : exponent - 15);
    if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
    return code >= 0x8000 ? -magnitude : magnitude;
  }

  double half(size_t byte) const { return half_value(bits(byte, 0, 16)); }

  // Code i of 32, or of 64, stored as nibbles, the lower nibble of a byte first.
  int nibble32(size_t byte, size_t i) const { return bits(byte + i % 16, i / 16 * 4, 4); }
  int nibble64(size_t byte, size_t i) const {
    return bits(byte + i / 64 * 32 + i % 32, i % 64 / 32 * 4, 4);
  }

  // Code i of 256, stored as pairs of bits, 128 codes in 32 bytes.
  int pair(size_t byte, size_t i) const {
    return bits(byte + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2);
  }

  int q3_k_scale(size_t i) const {
    static constexpr size_t kLowBit[] = {0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4};
    static constexpr size_t kHighBit[] = {0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6};
    return bits(96 + i % 8, kLowBit[i], 4) + 16 * bits(104 + i % 4, kHighBit[i], 2);
  }

  int k_scale(size_t i) const {
    return i < 4 ? bits(4 + i, 0, 6) : bits(12 + i - 4, 0, 4) + 16 * bits(4 + i - 4, 6, 2);
  }
  int k_minimum(size_t i) const {
    return i < 4 ? bits(8 + i, 0, 6) : bits(12 + i - 4, 4, 4) + 16 * bits(8 + i - 4, 6, 2);
  }

  int q6_k_code(size_t i) const {
    const size_t half = i / 128, row = i % 128 / 32, column = i % 32;
    static constexpr size_t kNibbleByte[] = {0, 32, 0, 32};
    static constexpr size_t kNibbleBit[] = {0, 0, 4, 4};
    return bits(half * 64 + kNibbleByte[row] + column, kNibbleBit[row], 4) +
           16 * bits(128 + half * 32 + column, row * 2, 2);
  }

  int iq4_xs_scale(size_t i) const { return bits(4, i * 4, 4) + 16 * bits(2, i * 2, 2); }

  static double iq4_value(int code) {
    static constexpr double kNegative[] = {-127, -104, -83, -65, -49, -35, -22, -10};
    static constexpr double kPositive[] = {1, 13, 25, 38, 53, 69, 89, 113};
    return code < 8 ? kNegative[code] : kPositive[code - 8];
  }

  // A 4-bit float: sign, two bits of exponent with bias 1, one bit of fraction.
  static double e2m1(int code) {
    const int exponent = code / 2 % 4, fraction = code % 2;
    const double magnitude =
        exponent == 0 ? fraction * 0.5 : std::ldexp(1 + fraction * 0.5, exponent - 1);
    return code >= 8 ? -magnitude : magnitude;
  }

  // The encoder stores ceil(n * 256 / 243), where n has five digits in base 3, the highest digit
  // first.
  int tq1_digit(size_t i) const {
    const size_t byte = i < 160 ? i % 32 : i < 240 ? 32 + (i - 160) % 16 : 48 + (i - 240) % 4;
    const size_t place = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
    static constexpr int kPower[] = {81, 27, 9, 3, 1};
    return bits(byte, 0, 8) * 243 / 256 / kPower[place] % 3;
  }

  int ptq1_digit(size_t i) const {
    const size_t byte = i < 80 ? i % 16 : i < 120 ? 16 + (i - 80) % 8 : 24 + (i - 120) % 2;
    const size_t place = i < 80 ? i / 16 : i < 120 ? (i - 80) / 8 : (i - 120) / 2;
    static constexpr int kPower[] = {81, 27, 9, 3, 1};
    return bits(byte, 0, 8) * 243 / 256 / kPower[place] % 3;
  }

  // An 8-bit float without a sign: four bits of exponent with bias 7, three of fraction. Bit 7 is
  // ignored; the NaN of the other bits means 0.
  double ue4m3(size_t byte) const {
    if (bits(byte, 0, 8) == 0x7f) return 0;
    const int exponent = bits(byte, 3, 4), fraction = bits(byte, 0, 3);
    return exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(1 + fraction / 8.0, exponent - 7);
  }

  // The sign of weight i of 8; only the signs of seven are stored.
  int even_sign(size_t byte, size_t first, size_t i) const {
    int minuses = 0;
    for (size_t j = 0; j < 7; ++j) minuses += bit(byte, first + j);
    const bool minus = i < 7 ? bit(byte, first + i) != 0 : minuses % 2 == 1;
    return minus ? -1 : 1;
  }

  static int digit(const CodebookVector* codebook, int number, size_t i, size_t n_digits) {
    return n_digits == 8 ? codebook[number] / (1 << 2 * i) % 4
                         : codebook[number] / (1 << 4 * i) % 16;
  }

  static double iq2_value(int digit) { return digit == 0 ? 8 : digit == 1 ? 25 : 43; }
  static double iq3_xxs_value(int digit) { return digit == 7 ? 62 : 4 + 8 * digit; }

  DType type_;
  const std::byte* block_;
};

}  // namespace kinglet
