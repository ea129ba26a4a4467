#include <string>
#include <vector>

#include "base/format.h"
#include "cli/commands.h"
#include "gguf/file.h"
#include "gguf/recipe.h"
#include "gguf/writer.h"
#include "tensor/quantizer.h"

namespace kinglet::cli {
namespace {

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

void copy_metadata(const GgufHeader& header, GgufWriter& out) {
  for (const MetadataEntry& entry : header.metadata) {
    // What describes the old file's storage: its mix of types and its padding.
    if (entry.key == "general.file_type" || entry.key == "general.alignment") continue;
    out.copy(entry);
  }
}

}  // namespace

Status quantize(const QuantizeOptions& options) {
  KINGLET_ASSIGN(const Recipe recipe, find_recipe(options.type));
  KINGLET_ASSIGN(GgufFile file, read_gguf_file(options.input));
  const GgufHeader& header = file.header();
  KINGLET_ASSIGN(const std::string_view architecture,
                 header.require_string("general.architecture"));
  KINGLET_ASSIGN(const uint32_t n_layers, header.require_uint(cat(architecture, ".block_count")));
  const bool tied_output = header.find_tensor("output.weight") == nullptr;

  GgufWriter out;
  copy_metadata(header, out);
  const auto type_of = [&](const TensorInfo& tensor) {
    return recipe_type(recipe, tensor.name, tensor.shape, n_layers, tied_output);
  };
  for (const TensorInfo& tensor : header.tensors) {
    out.add_tensor(tensor.name, type_of(tensor), tensor.shape);
  }
  KINGLET_TRY(out.open(options.output));
  for (const TensorInfo& tensor : header.tensors) {
    KINGLET_TRY(out.write_tensor(convert(file.tensor(tensor), type_of(tensor))));
  }
  return out.close();
}

}  // namespace kinglet::cli
