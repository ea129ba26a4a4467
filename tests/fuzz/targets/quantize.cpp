// Encoders: finite weights of a size that the format can represent decode to about the same
// numbers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "fuzz/input.h"
#include "tensor/dtype.h"
#include "tensor/quantizer.h"

namespace kinglet::fuzz {
namespace {

// Scales are binary16 numbers: outside these limits they lose bits or overflow.
constexpr float kSmallest = 0.05f;
constexpr float kLargest = 1e4f;

float largest_magnitude(const std::vector<float>& weights) {
  float largest = 0;
  for (const float weight : weights) largest = std::max(largest, std::fabs(weight));
  return largest;
}

}  // namespace

void quantize(Bytes bytes) {
  Input input(bytes);
  const DTypeInfo& type = dtypes()[input.up_to(static_cast<uint32_t>(dtypes().size() - 1))];
  const Quantizer encode = find_quantizer(type.type);
  if (encode == nullptr) return;
  const bool ordinary = input.flag();
  std::vector<float> weights(2 * type.block_size);
  for (float& weight : weights) {
    weight = ordinary ? input.weight() : input.number<float>();
    if (!std::isfinite(weight)) weight = 0;
  }
  std::vector<std::byte> blocks(2 * type.block_bytes);
  encode(weights.data(), blocks.data(), weights.size());
  std::vector<std::byte> again(blocks.size());
  encode(weights.data(), again.data(), weights.size());
  check(blocks == again, "the same weights give other bytes");

  if (const ImportanceQuantizer by_importance = find_importance_quantizer(type.type)) {
    std::vector<float> importance(weights.size());
    for (float& number : importance)
      number = std::ldexp(1.0f, static_cast<int>(input.up_to(40)) - 20);
    by_importance(weights.data(), importance.data(), again.data(), weights.size());
  }

  std::vector<float> decoded(weights.size());
  type.dequantize(blocks.data(), decoded.data(), decoded.size());
  const float largest = largest_magnitude(weights);
  if (largest < kSmallest || largest > kLargest) return;
  for (size_t i = 0; i < weights.size(); ++i) {
    check(std::fabs(decoded[i] - weights[i]) <= largest, "a weight came back as another one");
  }
}

}  // namespace kinglet::fuzz
