// Reads the keys of a file's metadata that describe its transformer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

// Limits that are larger than any real model's numbers, but small enough that a product of two fits
// 64 bits, and that buffers of such sizes can be refused with an error message.
constexpr uint32_t kMaxDim = 1 << 20;
constexpr uint32_t kMaxHeads = 1 << 12;  // of recurrent layers
constexpr uint32_t kMaxState = 1 << 12;  // numbers that a channel of a recurrent layer keeps

// Reads keys that begin with the architecture's name. Errors name the key:
// ErrorCode::missing_metadata, wrong_type, corrupt (out of range).
class Keys {
 public:
  Keys(const GgufHeader& header, std::string_view architecture)
      : header_(header), prefix_(cat(architecture, ".")) {}

  // Reads keys that have no prefix.
  static Keys without_prefix(const GgufHeader& header) {
    Keys keys(header, "");
    keys.prefix_.clear();
    return keys;
  }

  const MetadataValue* find(std::string_view key) const {
    return header_.find(prefix_ + std::string(key));
  }
  Result<uint32_t> size(std::string_view key, uint32_t limit) const {
    KINGLET_ASSIGN(const uint32_t value, header_.require_uint(prefix_ + std::string(key)));
    return check(key, value, limit);
  }
  Result<uint32_t> size(std::string_view key, uint32_t limit, uint32_t fallback) const {
    KINGLET_ASSIGN(const uint32_t value, number(key, fallback));
    return check(key, value, limit);
  }
  Result<uint32_t> number(std::string_view key, uint32_t fallback) const {
    return header_.get_uint(prefix_ + std::string(key), fallback);
  }
  Result<uint32_t> count(std::string_view key) const {
    return header_.require_uint(prefix_ + std::string(key));
  }
  Result<float> number(std::string_view key) const {
    return header_.require_float(prefix_ + std::string(key));
  }
  Result<float> number(std::string_view key, float fallback) const {
    return header_.get_float(prefix_ + std::string(key), fallback);
  }
  Result<float> positive(std::string_view key, float fallback) const {
    KINGLET_ASSIGN(const float value, number(key, fallback));
    if (value > 0) return value;
    return error(ErrorCode::corrupt, key, "is not positive");
  }
  Result<bool> flag(std::string_view key, bool fallback) const {
    return header_.get_bool(prefix_ + std::string(key), fallback);
  }
  Result<std::string_view> text(std::string_view key, std::string_view fallback) const {
    return header_.get_string(prefix_ + std::string(key), fallback);
  }
  // A number for each of n_layers layers: from an array of n_layers numbers, or from one number for
  // all layers.
  Result<std::vector<uint32_t>> by_layer(std::string_view key, uint32_t n_layers) const;
  Result<std::vector<uint32_t>> by_layer(std::string_view key, uint32_t n_layers,
                                         uint32_t fallback) const;
  // The number for one of n_layers layers, which must be finite: an element of an array of n_layers
  // numbers, or one number for all layers.
  Result<float> number_of_layer(std::string_view key, uint32_t n_layers, uint32_t layer) const;

  Error error(ErrorCode code, std::string_view key, std::string_view what) const {
    return {code, cat(prefix_, key, " ", what)};
  }

  // The value, which must be from 1 to `limit`.
  Result<uint32_t> check(std::string_view key, uint32_t value, uint32_t limit) const {
    if (value >= 1 && value <= limit) return value;
    return error(ErrorCode::corrupt, key, cat("is ", value, ", expected 1 to ", limit));
  }

 private:
  const GgufHeader& header_;
  std::string prefix_;
};

}  // namespace kinglet
