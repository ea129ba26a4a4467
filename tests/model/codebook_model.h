// Models with weights of the types that are kept in another form than in their files (see
// DTypeInfo::coded).
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "model/rebuild.h"
#include "tensor/decode.h"

namespace kinglet {

inline std::vector<DType> codebook_types() {
  std::vector<DType> types;
  for (const DTypeInfo& type : dtypes()) {
    if (type.coded != type.type) types.push_back(type.type);
  }
  return types;
}

inline void set_scale(const DTypeInfo& type, std::byte* block, Half scale) {
  if (type.type != DType::iq1_m) {
    std::memcpy(block, &scale, sizeof scale);
    return;
  }
  auto& words = reinterpret_cast<BlockIQ1_M*>(block)->scales;
  for (size_t i = 0; i < 4; ++i) {
    words[i] = static_cast<uint16_t>((words[i] & 0x0fff) | (scale.bits >> 4 * i & 0x0f) << 12);
  }
}

inline double root_mean_square(std::span<const float> values) {
  double sum = 0;
  for (const auto x : values) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// Random blocks; the root mean square of their weights is `size`, about.
inline Bytes codebook_blocks(const DTypeInfo& type, uint64_t n_weights, double size,
                             std::mt19937& random) {
  Bytes blocks(static_cast<size_t>(n_weights) / type.block_size * type.block_bytes);
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random());
  const auto set_scales = [&](double least, double most) {
    std::uniform_real_distribution<double> scale(least, most);
    for (size_t i = 0; i < blocks.size(); i += type.block_bytes) {
      set_scale(type, &blocks[i], to_half(static_cast<float>(scale(random))));
    }
  };
  set_scales(1.0, 1.0);
  const double factor = size / root_mean_square(decode(type, blocks));
  set_scales(0.5 * factor, 1.5 * factor);
  return blocks;
}

// A model whose matrices, its embedding too, have random weights of the type, as large as the
// fixture's; or the same weights in F32.
inline Bytes codebook_model(const DTypeInfo& type, bool as_floats = false) {
  std::mt19937 random(9);
  return rebuild("quant/llama-f32.gguf", [&](GgufBuilder& builder, const TensorView& tensor) {
    if (tensor.n_rows() == 1) return copy_tensor(builder, tensor);
    const double size = root_mean_square(decode(dtype_info(tensor.type), tensor.bytes));
    const Bytes blocks = codebook_blocks(type, tensor.n_rows() * tensor.n_columns(), size, random);
    if (as_floats) {
      builder.add_f32(tensor.name, dims_of(tensor.shape), decode(type, blocks));
    } else {
      builder.add_tensor(tensor.name, type.type, dims_of(tensor.shape), blocks);
    }
  });
}

}  // namespace kinglet
