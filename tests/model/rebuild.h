// Copies of fixtures that are built tensor by tensor.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "gguf/gguf_builder.h"
#include "model/tiny_model.h"
#include "support.h"
#include "tensor/quantizer.h"

namespace kinglet {

inline std::vector<uint64_t> dims_of(const Shape& shape) {
  size_t n = kMaxDims;
  while (n > 1 && shape[n - 1] == 1) --n;
  return {shape.begin(), shape.begin() + static_cast<ptrdiff_t>(n)};
}

inline void copy_tensor(GgufBuilder& builder, const TensorView& tensor) {
  builder.add_tensor(tensor.name, tensor.type, dims_of(tensor.shape), tensor.bytes);
}

inline void copy_metadata(GgufBuilder& builder, const GgufHeader& header) {
  for (const MetadataEntry& entry : header.metadata) {
    builder.set_raw(entry.key, static_cast<uint32_t>(entry.value.type()), entry.value.bytes());
  }
}

using AddTensor = std::function<void(GgufBuilder&, const TensorView&)>;

// The metadata of a fixture, and what `add` makes of each of its tensors.
inline Bytes rebuild(const std::string& fixture, const AddTensor& add) {
  auto file = read_gguf_file(fixture_path(fixture));
  EXPECT_TRUE(file.ok());
  GgufBuilder builder;
  copy_metadata(builder, file.value().header());
  for (const TensorInfo& info : file.value().header().tensors) {
    add(builder, file.value().tensor(info));
  }
  return builder.build();
}

enum class Converts : uint8_t { matrices_but_f32, all };

// The fixture with its matrices rounded to this type, except those whose rows are no whole blocks.
inline Result<GgufFile> converted(const std::string& fixture, const DTypeInfo& to,
                                  Converts which = Converts::matrices_but_f32) {
  return load_gguf(rebuild(fixture, [&](GgufBuilder& builder, const TensorView& tensor) {
    const bool is_chosen = which == Converts::all || tensor.type != DType::f32;
    const bool is_whole = tensor.n_columns() % to.block_size == 0;
    if (tensor.n_rows() == 1 || !is_chosen || !is_whole) return copy_tensor(builder, tensor);
    const DTypeInfo& from = dtype_info(tensor.type);
    std::vector<float> weights(tensor.bytes.size() / from.block_bytes * from.block_size);
    from.dequantize(tensor.bytes.data(), weights.data(), weights.size());
    Bytes blocks(weights.size() / to.block_size * to.block_bytes);
    find_quantizer(to.type)(weights.data(), blocks.data(), weights.size());
    builder.add_tensor(tensor.name, to.type, dims_of(tensor.shape), blocks);
  }));
}

}  // namespace kinglet
