// Counts how often this program asks for memory, and can refuse memory.
#pragma once

#include <cstddef>

namespace kinglet {

// In wasm, malloc itself is not counted, because JavaScript calls it by its name. The related
// functions and the operators new are counted everywhere.
#if defined(__wasm__)
constexpr bool kCountsMalloc = false;
#else
constexpr bool kCountsMalloc = true;
#endif

// The number of calls of malloc and related functions, by any thread, from this program's own code
// and its operators new.
size_t n_allocations();

// Grants the next n calls of aligned_alloc, which gives the memory of weights, caches and scratch,
// and refuses all later ones. A negative n grants all.
void grant_aligned_allocations(int n);

}  // namespace kinglet
