// Overflow-checked sizes. Numbers from files are multiplied only with these functions. size_t has
// 32 bits in wasm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace kinglet {

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// Returns the value as a size_t, or nothing if it does not fit.
inline std::optional<size_t> checked_size(uint64_t value) {
  if (value > std::numeric_limits<size_t>::max()) return std::nullopt;
  return static_cast<size_t>(value);
}

// Rounds up to a multiple of `step` (> 0); the caller has checked that the sum fits.
constexpr uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace kinglet
