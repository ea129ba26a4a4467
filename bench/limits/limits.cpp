#include "limits/limits.h"

namespace kinglet::limits {

#if defined(__wasm__)

std::span<const Limits* const> available_limits() {
  static const Limits* const kAll[] = {&wasm_limits()};
  return kAll;
}

#elif defined(__x86_64__)

std::span<const Limits* const> available_limits() {
  static const Limits* const kAll[] = {&avx512_vnni_limits(), &avx2_limits()};
  const std::span all(kAll);
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw")) return all;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? all.last(1)
                                                                         : all.last(0);
}

#else

std::span<const Limits* const> available_limits() { return {}; }

#endif

}  // namespace kinglet::limits
