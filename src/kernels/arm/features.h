// Asks the system which instructions a 64-bit ARM processor has beyond the baseline.
#pragma once

#if defined(__aarch64__)

#if defined(__APPLE__)
#include <sys/sysctl.h>
#include <sys/types.h>
#elif defined(_WIN32)
#include <windows.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

namespace kinglet::arm {

#if defined(__APPLE__)

inline bool has_feature(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
inline bool has_dot_products() { return has_feature("hw.optional.arm.FEAT_DotProd"); }
inline bool has_matrix_products() { return has_feature("hw.optional.arm.FEAT_I8MM"); }

#elif defined(_WIN32)

// 43 is PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE, 66 is PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE: older
// headers do not define them.
inline bool has_dot_products() { return IsProcessorFeaturePresent(43) != 0; }
inline bool has_matrix_products() { return IsProcessorFeaturePresent(66) != 0; }

#elif defined(__linux__)

// Bit 20 is HWCAP_ASIMDDP, bit 13 is HWCAP2_I8MM: older headers do not define them.
inline bool has_dot_products() { return (getauxval(AT_HWCAP) >> 20 & 1) != 0; }
inline bool has_matrix_products() { return (getauxval(AT_HWCAP2) >> 13 & 1) != 0; }

#else

inline bool has_dot_products() { return false; }
inline bool has_matrix_products() { return false; }

#endif

}  // namespace kinglet::arm

#endif
