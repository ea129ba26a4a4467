#include "base/aligned_buffer.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(_WIN32)
#include <malloc.h>
#endif

#include <cstdlib>
#include <memory>

#include "base/checked.h"
#include "base/format.h"

namespace kinglet {
namespace {

#if defined(_WIN32)
void* aligned_memory(size_t bytes) { return _aligned_malloc(bytes, kAlignment); }
void free_aligned(void* memory) { _aligned_free(memory); }
#else
void* aligned_memory(size_t bytes) { return std::aligned_alloc(kAlignment, bytes); }
void free_aligned(void* memory) { std::free(memory); }
#endif

}  // namespace

Result<AlignedBuffer> AlignedBuffer::allocate(uint64_t bytes, std::string_view purpose) {
  if (bytes == 0) return AlignedBuffer();
  const auto padded = checked_add(bytes, kAlignment - 1);
  const auto size = padded ? checked_size(*padded / kAlignment * kAlignment) : std::nullopt;
  void* memory = size ? aligned_memory(*size) : nullptr;
  if (memory == nullptr) {
    return Error{ErrorCode::out_of_memory,
                 cat("out of memory: ", purpose, " needs ", bytes, " bytes")};
  }
  return AlignedBuffer(static_cast<std::byte*>(memory), static_cast<size_t>(bytes));
}

void AlignedBuffer::expect_full_use() {
#if defined(__linux__)
  constexpr size_t kPage = 4096;  // if the system's pages are larger, madvise fails, which is fine
  void* begin = memory_.get();
  size_t size = size_;
  if (std::align(kPage, kPage, begin, size) != nullptr) {
    (void)madvise(begin, size / kPage * kPage, MADV_HUGEPAGE);
  }
#endif
}

void AlignedBuffer::Free::operator()(std::byte* memory) const { free_aligned(memory); }

}  // namespace kinglet
