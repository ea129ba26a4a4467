// How often this program has asked for memory, and refusing it.
#pragma once

#include <cstddef>

namespace kinglet {

// In wasm malloc itself is left alone, as JavaScript calls it by its name; its kin and the
// operators new are counted everywhere.
#if defined(__wasm__)
constexpr bool kCountsMalloc = false;
#else
constexpr bool kCountsMalloc = true;
#endif

// Calls of malloc and its kin, of any thread, from this program's own code and its operators new.
size_t n_allocations();

// Grants the next n calls of aligned_alloc, where weights, caches and scratch memory come from, and
// refuses those that follow. A negative n grants all.
void grant_aligned_allocations(int n);

}  // namespace kinglet
