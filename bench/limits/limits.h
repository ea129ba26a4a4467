// The limits of a machine: reading memory in a stream, and multiplying without waiting for memory,
// with the instructions of a kernel set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace kinglet::limits {

// The operands of a product: 4-bit or 8-bit codes with 8-bit activations, or floats.
enum Operands : uint32_t { kNibbles, kBytes, kFloats };
constexpr size_t kNOperands = 3;

// The size of the operands that a multiplication reads again and again; they fit any first-level
// cache. Every byte is kOperandByte: as codes or as floats, these are ordinary numbers.
constexpr size_t kOperandBytes = 8192;
constexpr std::byte kOperandByte{0x3f};

struct Multiplication {
  // Runs n_steps steps on kOperandBytes at `operands`. Returns a number made from the results, so
  // that no compiler leaves them out.
  uint32_t (*run)(const std::byte* operands, size_t n_steps);
  uint32_t multiply_adds_per_step;
};

struct Limits {
  const char* name;  // of the kernel set
  // Reads a multiple of 1024 bytes once.
  uint32_t (*read)(const std::byte* data, size_t bytes);
  Multiplication multiply[kNOperands];
};

// The limits of this build's kernel sets that this machine can run.
std::span<const Limits* const> available_limits();

const Limits& avx2_limits();
const Limits& avx512_vnni_limits();
const Limits& wasm_limits();  // simd128 or relaxed-simd

template <class Vectors>
uint32_t sum_of_words(const Vectors& vectors) {
  constexpr size_t kBytes = sizeof(Vectors);
  uint32_t words[kBytes / sizeof(uint32_t)];
  std::memcpy(words, vectors, kBytes);
  uint32_t sum = 0;
  for (const uint32_t word : words) sum += word;
  return sum;
}

// The loops are templates over types that the instruction-set files define in anonymous namespaces.
// V has Vector, load() and add(). Operation has kRows by kTokens Sums, which fit the registers;
// as_weights() and splat() read a vector of Weights and the activations of one token; add() adds
// kProducts products of the two.
// Reads two streams at the same time: machines read two faster than one.
template <class V>
uint32_t run_read(const std::byte* data, size_t bytes) {
  constexpr size_t kSums = 4;
  constexpr size_t kBytes = sizeof(typename V::Vector);
  const std::byte* streams[] = {data, data + bytes / 2};
  typename V::Vector sums[2][kSums] = {};
  for (size_t at = 0; at + kSums * kBytes <= bytes / 2; at += kSums * kBytes) {
    for (size_t stream = 0; stream < 2; ++stream) {
      for (size_t i = 0; i < kSums; ++i) {
        const std::byte* vector = streams[stream] + at + i * kBytes;
        sums[stream][i] = V::add(sums[stream][i], V::load(vector));
      }
    }
  }
  return sum_of_words(sums);
}

template <class Operation>
uint32_t run_multiplication(const std::byte* operands, size_t n_steps) {
  constexpr size_t kRows = Operation::kRows;
  constexpr size_t kTokens = Operation::kTokens;
  constexpr size_t kWeightBytes = kRows * 64;
  constexpr size_t kActivationBytes = kTokens * 16;
  constexpr size_t kSteps = 16;  // the operands repeat after this many steps
  static_assert(kSteps * (kWeightBytes + kActivationBytes) <= kOperandBytes);

  typename Operation::Sum sums[kRows][kTokens] = {};
  for (size_t step = 0; step < n_steps; ++step) {
    const std::byte* w = operands + step % kSteps * kWeightBytes;
    const std::byte* x = operands + kSteps * kWeightBytes + step % kSteps * kActivationBytes;
    typename Operation::Weights weights[kRows];
    for (size_t r = 0; r < kRows; ++r) weights[r] = Operation::as_weights(w + r * 64);
    for (size_t t = 0; t < kTokens; ++t) {
      const auto token = Operation::splat(x + t * 16);
      for (size_t r = 0; r < kRows; ++r) sums[r][t] = Operation::add(sums[r][t], weights[r], token);
    }
  }
  return sum_of_words(sums);
}

template <class Operation>
constexpr Multiplication multiplication() {
  return {run_multiplication<Operation>,
          Operation::kRows * Operation::kTokens * Operation::kProducts};
}

}  // namespace kinglet::limits
