// Asks an x86 processor which instructions it has beyond the baseline.
#pragma once

#if defined(__x86_64__)

namespace kinglet::x86 {

inline bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}
inline bool has_avx_vnni() { return has_avx2() && __builtin_cpu_supports("avxvnni"); }
inline bool has_avx512_vnni() {
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

}  // namespace kinglet::x86

#endif
