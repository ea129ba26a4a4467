// The limits for JavaScript: limits.js calls these functions and measures the time.
#include <cstdlib>
#include <cstring>

#include "limits/limits.h"

namespace {

using namespace kinglet::limits;

std::byte* data = nullptr;
size_t data_bytes = 0;
alignas(64) std::byte operands[kOperandBytes];

}  // namespace

#define KINGLET_EXPORT(name) extern "C" __attribute__((export_name(#name)))

// The name of a kernel set; null after the last one.
KINGLET_EXPORT(name) const char* limits_name(uint32_t set) {
  return set < available_limits().size() ? available_limits()[set]->name : nullptr;
}

// Allocates the memory that read() reads. Returns 0 if there is not enough.
KINGLET_EXPORT(allocate) uint32_t limits_allocate(size_t bytes) {
  data = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
  if (data == nullptr) return 0;
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i);
  data_bytes = bytes;
  return 1;
}

KINGLET_EXPORT(read) uint32_t limits_read(uint32_t set) {
  return available_limits()[set]->read(data, data_bytes);
}

KINGLET_EXPORT(multiply) uint32_t limits_multiply(uint32_t set, uint32_t kind, size_t steps) {
  std::memset(operands, static_cast<int>(kOperandByte), sizeof operands);
  return available_limits()[set]->multiply[kind].run(operands, steps);
}

KINGLET_EXPORT(multiplyAddsPerStep)
uint32_t limits_multiply_adds_per_step(uint32_t set, uint32_t kind) {
  return available_limits()[set]->multiply[kind].multiply_adds_per_step;
}
