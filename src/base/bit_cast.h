// A replacement for std::bit_cast, which is missing in the oldest libc++ we build with.
#pragma once

#include <type_traits>

namespace kinglet {

template <class To, class From>
constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
                std::is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}

}  // namespace kinglet
