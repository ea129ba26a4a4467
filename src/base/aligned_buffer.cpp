#include "base/aligned_buffer.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdlib>
#include <memory>

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

void AlignedBuffer::expect_full_use() {
#if defined(__linux__)
  constexpr size_t kPage = 4096;  // where the system's pages are larger, it refuses, which is fine
  void* begin = memory_.get();
  size_t size = size_;
  if (std::align(kPage, kPage, begin, size) != nullptr) {
    (void)madvise(begin, size / kPage * kPage, MADV_HUGEPAGE);
  }
#endif
}

void AlignedBuffer::Free::operator()(std::byte* memory) const { std::free(memory); }

}  // namespace kinglet
