#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "gguf/file.h"
#include "gguf/recipe.h"
#include "gguf/writer.h"
#include "tensor/quantizer.h"

namespace kinglet::cli {
namespace {

constexpr uint32_t kQuantizationVersion = 2;  // of the block types' layouts, see ggml.h

// Row by row, so that only one tensor's result and one row of floats are held.
std::vector<std::byte> convert(const TensorView& tensor, DType to) {
  const DTypeInfo& from = dtype_info(tensor.type);
  const DTypeInfo& into = dtype_info(to);
  const Quantizer quantizer = find_quantizer(to);
  const auto n_columns = static_cast<size_t>(tensor.n_columns());
  const size_t from_bytes = n_columns / from.block_size * from.block_bytes;
  const size_t into_bytes = n_columns / into.block_size * into.block_bytes;
  std::vector<float> row(n_columns);
  std::vector<std::byte> out(static_cast<size_t>(tensor.n_rows()) * into_bytes);
  for (size_t i = 0; i < tensor.n_rows(); ++i) {
    from.dequantize(tensor.bytes.data() + i * from_bytes, row.data(), n_columns);
    quantizer(row.data(), out.data() + i * into_bytes, n_columns);
  }
  return out;
}

void set_metadata(const GgufHeader& header, const Recipe& recipe, std::span<const DType> types,
                  GgufWriter& out) {
  for (const MetadataEntry& entry : header.metadata) {
    // What describes the old file's storage: its mix of types and its padding.
    if (entry.key == "general.file_type" || entry.key == "general.quantization_version" ||
        entry.key == "general.alignment") {
      continue;
    }
    out.copy(entry);
  }
  out.set("general.file_type", recipe.file_type);
  const auto is_block = [](DType type) { return dtype_info(type).block_size > 1; };
  if (std::any_of(types.begin(), types.end(), is_block)) {
    out.set("general.quantization_version", kQuantizationVersion);
  }
}

}  // namespace

Status quantize(const QuantizeOptions& options) {
  KINGLET_ASSIGN(const Recipe recipe, find_recipe(options.mix));
  KINGLET_ASSIGN(GgufFile file, read_gguf_file(options.input));
  const GgufHeader& header = file.header();
  KINGLET_ASSIGN(const ModelTraits model, read_traits(header));
  const std::vector<DType> types = recipe_types(recipe, model, header.tensors);

  GgufWriter out;
  set_metadata(header, recipe, types, out);
  for (size_t i = 0; i < types.size(); ++i) {
    out.add_tensor(header.tensors[i].name, types[i], header.tensors[i].shape);
  }
  KINGLET_TRY(out.open(options.output));
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorView tensor = file.tensor(header.tensors[i]);
    if (tensor.type == types[i]) {
      KINGLET_TRY(out.write_tensor(tensor.bytes));
    } else {
      KINGLET_TRY(out.write_tensor(convert(tensor, types[i])));
    }
  }
  return out.close();
}

}  // namespace kinglet::cli
