#include "gguf/recipe.h"

#include <charconv>
#include <string>

#include "base/format.h"
#include "gguf/quoted.h"
#include "tensor/quantizer.h"

namespace kinglet {
namespace {

constexpr Recipe kQ4_K_M = {"Q4_K_M", DType::q4_k, DType::q6_k, DType::q6_k};

// The layer of "blk.12.attn_v.weight", or nothing for other names.
std::optional<uint32_t> layer_of(std::string_view tensor) {
  constexpr std::string_view kPrefix = "blk.";
  if (!tensor.starts_with(kPrefix)) return std::nullopt;
  uint32_t layer = 0;
  const char* begin = tensor.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(begin, tensor.data() + tensor.size(), layer);
  return error == std::errc() ? std::optional(layer) : std::nullopt;
}

bool is_sensitive(std::string_view tensor, uint32_t n_layers) {
  const auto layer = layer_of(tensor);
  if (!layer || !(tensor.ends_with("attn_v.weight") || tensor.ends_with("ffn_down.weight"))) {
    return false;
  }
  const uint32_t eighth = n_layers / 8;
  return *layer < eighth || *layer >= 7 * n_layers / 8 || (*layer - eighth) % 3 == 2;
}

DType fit_row(DType type, uint64_t n_columns) {
  if (n_columns % dtype_info(type).block_size == 0) return type;
  const DType finer = type == DType::q4_k ? DType::q5_0 : DType::q8_0;
  return n_columns % dtype_info(finer).block_size == 0 ? finer : DType::f16;
}

}  // namespace

Result<Recipe> find_recipe(std::string_view name) {
  if (name == kQ4_K_M.name) return kQ4_K_M;
  std::string known(kQ4_K_M.name);
  for (const DTypeInfo& info : dtypes()) {
    if (find_quantizer(info.type) == nullptr) continue;
    known += cat(", ", info.name);
    if (find_dtype(name) == &info) {
      // Below 6 bits the output matrix suffers most: it keeps Q6_K.
      const bool coarse = info.block_bytes * 8 < info.block_size * 6;
      return Recipe{info.name, info.type, coarse ? DType::q6_k : info.type, info.type};
    }
  }
  return Error{ErrorCode::invalid_argument,
               cat("cannot quantize to ", quoted(name), " (known: ", known, ")")};
}

DType recipe_type(const Recipe& recipe, std::string_view tensor, const Shape& shape,
                  uint32_t n_layers, bool tied_output) {
  if (shape[1] == 1) return DType::f32;
  DType type = recipe.matrices;
  if (tensor == "output.weight" || (tied_output && tensor == "token_embd.weight")) {
    type = recipe.output;
  } else if (is_sensitive(tensor, n_layers)) {
    type = recipe.sensitive;
  }
  return fit_row(type, shape[0]);
}

}  // namespace kinglet
