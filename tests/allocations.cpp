#include "allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(_WIN32)
#include <malloc.h>
#endif

// After inlining, GCC takes the replaced operators for mismatched ones.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {

std::atomic<size_t> n_calls{0};
std::atomic<int> n_granted{-1};

void* checked(void* memory) {
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

namespace kinglet {

size_t n_allocations() { return n_calls; }

void grant_aligned_allocations(int n) { n_granted = n; }

}  // namespace kinglet

// The linker replaces every call of NAME by __wrap_NAME, and the real function is __real_NAME
// (--wrap).
extern "C" {
void* __real_malloc(size_t bytes);
void* __real_calloc(size_t n, size_t bytes);
void* __real_realloc(void* memory, size_t bytes);
#if defined(_WIN32)
// The arguments have the opposite order. The function is imported, so its name is that of a
// pointer.
extern void* (*__real___imp__aligned_malloc)(size_t bytes, size_t alignment);
#else
void* __real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void** memory, size_t alignment, size_t bytes);
#endif

#if !defined(__EMSCRIPTEN__)
void* __wrap_malloc(size_t bytes) {
  ++n_calls;
  return __real_malloc(bytes);
}
#endif
void* __wrap_calloc(size_t n, size_t bytes) {
  ++n_calls;
  return __real_calloc(n, bytes);
}
void* __wrap_realloc(void* memory, size_t bytes) {
  ++n_calls;
  return __real_realloc(memory, bytes);
}
}

namespace {

void* real_aligned_alloc(size_t alignment, size_t bytes) {
#if defined(_WIN32)
  return __real___imp__aligned_malloc(bytes, alignment);
#else
  return __real_aligned_alloc(alignment, bytes);
#endif
}

void free_aligned(void* memory) {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

void* counted_aligned_alloc(size_t alignment, size_t bytes) {
  ++n_calls;
  if (n_granted == 0) return nullptr;
  if (n_granted > 0) --n_granted;
  return real_aligned_alloc(alignment, bytes);
}

}  // namespace

extern "C" {
#if defined(_WIN32)
void* (*__wrap___imp__aligned_malloc)(size_t bytes, size_t alignment) =
    [](size_t bytes, size_t alignment) { return counted_aligned_alloc(alignment, bytes); };
#else
void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return counted_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void** memory, size_t alignment, size_t bytes) {
  ++n_calls;
  return __real_posix_memalign(memory, alignment, bytes);
}
#endif
}

// The operators of the standard library call a malloc that is not wrapped. These are always
// granted.
void* operator new(size_t bytes) {
  return operator new (bytes, std::align_val_t{alignof(std::max_align_t)});
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  ++n_calls;
  const auto line = static_cast<size_t>(alignment);
  return checked(real_aligned_alloc(line, (bytes + line - 1) / line * line));
}
void operator delete(void* memory) noexcept { free_aligned(memory); }
void operator delete(void* memory, size_t /*bytes*/) noexcept { free_aligned(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  free_aligned(memory);
}
void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  free_aligned(memory);
}
