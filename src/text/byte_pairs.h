// The pairs of bytes that stand side by side inside tokens. If no token contains a pair of adjacent
// bytes of a text, no token crosses the place between them, and the text can be cut there.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kinglet {

class BytePairs {
 public:
  void add(std::string_view token) {
    for (size_t i = 1; i < token.size(); ++i) pairs_.set(index_of(token[i - 1], token[i]));
  }

  bool has(char left, char right) const { return pairs_[index_of(left, right)]; }

 private:
  static size_t index_of(char left, char right) {
    return size_t{static_cast<uint8_t>(left)} << 8 | static_cast<uint8_t>(right);
  }

  std::bitset<65536> pairs_;
};

}  // namespace kinglet
