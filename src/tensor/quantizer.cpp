#include "tensor/quantizer.h"

#include <cstring>

#include "tensor/codecs.h"

namespace kinglet {
namespace {

template <class Block>
void quantize_blocks(const float* in, std::byte* blocks, size_t n) {
  auto* block = reinterpret_cast<Block*>(blocks);
  for (size_t i = 0; i < n; i += Block::kSize) encode(in + i, *block++);
}

void store_f32(const float* in, std::byte* blocks, size_t n) {
  std::memcpy(blocks, in, n * sizeof(float));
}

template <class Float16, Float16 (*round)(float)>
void narrow(const float* in, std::byte* blocks, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const Float16 value = round(in[i]);
    std::memcpy(blocks + i * sizeof value, &value, sizeof value);
  }
}

struct Row {
  DType type;
  Quantizer quantizer;
};

constexpr Row kQuantizers[] = {
    {DType::f32, store_f32},
    {DType::f16, narrow<Half, to_half>},
    {DType::bf16, narrow<BFloat16, to_bfloat16>},
    {DType::q4_0, quantize_blocks<BlockQ4_0>},
    {DType::q4_1, quantize_blocks<BlockQ4_1>},
    {DType::q5_0, quantize_blocks<BlockQ5_0>},
    {DType::q5_1, quantize_blocks<BlockQ5_1>},
    {DType::q8_0, quantize_blocks<BlockQ8_0>},
    {DType::q2_k, quantize_blocks<BlockQ2_K>},
    {DType::q3_k, quantize_blocks<BlockQ3_K>},
    {DType::q4_k, quantize_blocks<BlockQ4_K>},
    {DType::q5_k, quantize_blocks<BlockQ5_K>},
    {DType::q6_k, quantize_blocks<BlockQ6_K>},
    {DType::iq4_nl, quantize_blocks<BlockIQ4_NL>},
    {DType::iq4_xs, quantize_blocks<BlockIQ4_XS>},
    {DType::mxfp4, quantize_blocks<BlockMXFP4>},
    {DType::tq1_0, quantize_blocks<BlockTQ1_0>},
    {DType::tq2_0, quantize_blocks<BlockTQ2_0>},
};

}  // namespace

Quantizer find_quantizer(DType type) {
  for (const Row& row : kQuantizers) {
    if (row.type == type) return row.quantizer;
  }
  return nullptr;
}

}  // namespace kinglet
