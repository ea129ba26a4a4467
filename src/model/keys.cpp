#include "model/keys.h"

#include <cmath>
#include <optional>

namespace kinglet {

Result<std::vector<uint32_t>> Keys::by_layer(std::string_view key, uint32_t n_layers) const {
  if (find(key) == nullptr) KINGLET_TRY(header_.require_uint(prefix_ + std::string(key)));
  return by_layer(key, n_layers, 0);
}

Result<std::vector<uint32_t>> Keys::by_layer(std::string_view key, uint32_t n_layers,
                                             uint32_t fallback) const {
  const MetadataValue* value = find(key);
  if (value == nullptr || value->type() != ValueType::array) {
    KINGLET_ASSIGN(const uint32_t one, number(key, fallback));
    return std::vector<uint32_t>(n_layers, one);
  }
  const MetadataArray array = *value->as_array();
  std::vector<uint32_t> numbers;
  bool fits = array.size() == n_layers;
  array.for_each([&](uint64_t, const MetadataValue& element) {
    const bool flag = element.as_bool().value_or(false);
    const uint64_t number = element.as_uint().value_or(flag ? 1 : 0);
    fits = fits && number <= kMaxDim && (element.as_uint() || element.as_bool());
    numbers.push_back(static_cast<uint32_t>(number));
  });
  if (fits) return numbers;
  return error(ErrorCode::corrupt, key,
               cat("is not an array of one number up to ", kMaxDim, " for each of ", n_layers,
                   " layers, but of ", array.size(), " values"));
}

Result<float> Keys::number_of_layer(std::string_view key, uint32_t n_layers, uint32_t layer) const {
  const MetadataValue* value = find(key);
  if (value == nullptr || value->type() != ValueType::array) return number(key);
  const MetadataArray array = *value->as_array();
  std::optional<double> found;
  if (array.size() == n_layers) {
    array.for_each([&](uint64_t i, const MetadataValue& element) {
      if (i == layer) found = element.as_float();
    });
  }
  if (found && std::isfinite(*found)) return static_cast<float>(*found);
  return error(ErrorCode::corrupt, key,
               cat("is not an array of one finite number for each of ", n_layers,
                   " layers, but of ", array.size(), " values"));
}

}  // namespace kinglet
