// Hints for loops whose copies and vector forms would cost more bytes than they save time: every
// page downloads them.
#pragma once

#if defined(__clang__)
// Before a loop that is unrolled and vectorized by hand.
#define KINGLET_AS_WRITTEN _Pragma("clang loop unroll(disable) vectorize(disable)")
#else
#define KINGLET_AS_WRITTEN _Pragma("GCC unroll 1")
#endif
