// Hints for loops that compilers should not unroll or vectorize: it would save less time than the
// extra code costs, which every page downloads.
#pragma once

#if defined(__clang__)
// Put this before a loop that is unrolled and vectorized by hand.
#define KINGLET_AS_WRITTEN _Pragma("clang loop unroll(disable) vectorize(disable)")
#else
#define KINGLET_AS_WRITTEN _Pragma("GCC unroll 1")
#endif
