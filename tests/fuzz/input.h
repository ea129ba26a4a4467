// Takes numbers and texts from a fuzzer's bytes. After their end, everything is 0.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "fuzz/targets.h"

namespace kinglet::fuzz {

class Input {
 public:
  explicit Input(Bytes bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }

  template <class T>
  T number() {
    T value{};
    const Bytes bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  // A number from 0 to `most`, made of one byte (two if `most` needs them).
  uint32_t up_to(uint32_t most) {
    return (most < 256 ? number<uint8_t>() : number<uint16_t>()) % (most + 1);
  }

  bool flag() { return up_to(1) != 0; }

  // A float of ordinary size, from -8 to 8; zeros are possible.
  float weight() { return static_cast<float>(number<int16_t>() / 64) / 64.0f; }

  std::vector<float> weights(size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = weight();
    return values;
  }

  Bytes take(size_t n) {
    const Bytes bytes = rest_.first(std::min(n, rest_.size()));
    rest_ = rest_.subspan(bytes.size());
    return bytes;
  }

  std::string_view text(size_t n) {
    const Bytes bytes = take(n);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  Bytes rest() { return take(rest_.size()); }
  std::string_view rest_text() { return text(rest_.size()); }

 private:
  Bytes rest_;
};

}  // namespace kinglet::fuzz
