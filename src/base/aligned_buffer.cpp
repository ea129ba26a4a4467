#include "base/aligned_buffer.h"

#include <cstdlib>

#include "base/checked.h"
#include "base/format.h"

namespace kinglet {

Result<AlignedBuffer> AlignedBuffer::allocate(uint64_t bytes, std::string_view purpose) {
  if (bytes == 0) return AlignedBuffer();
  const auto padded = checked_add(bytes, kAlignment - 1);
  const auto size = padded ? checked_size(*padded / kAlignment * kAlignment) : std::nullopt;
  void* memory = size ? std::aligned_alloc(kAlignment, *size) : nullptr;
  if (memory == nullptr) {
    return Error{ErrorCode::out_of_memory,
                 cat("out of memory: ", purpose, " needs ", bytes, " bytes")};
  }
  return AlignedBuffer(static_cast<std::byte*>(memory), static_cast<size_t>(bytes));
}

void AlignedBuffer::Free::operator()(std::byte* memory) const { std::free(memory); }

}  // namespace kinglet
