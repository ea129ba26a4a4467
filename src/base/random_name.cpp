#include "base/random_name.h"

#include <random>
#include <string_view>

namespace kinglet {

std::string random_name(size_t length) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string name;
  while (name.size() < length) name += kAlphabet[random() % kAlphabet.size()];
  return name;
}

}  // namespace kinglet
