// Writes a model of random weights in the shape of a real one: speed does not depend on what they
// say. Usage: kinglet_make_model SHAPE TYPE OUT
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "base/format.h"
#include "gguf/recipe.h"
#include "gguf/writer.h"
#include "tensor/quantizer.h"

namespace kinglet {
namespace {

struct ModelShape {
  std::string_view name;
  uint32_t n_layers;
  uint32_t hidden_dim;
  uint32_t n_heads;
  uint32_t n_kv_heads;
  uint32_t ffn_dim;
  uint32_t n_tokens;
  bool tied_output;
};

// From the models' published configurations.
constexpr ModelShape kShapes[] = {
    {"smollm2-135m", 30, 576, 9, 3, 1536, 49152, true},
    {"qwen2.5-0.5b", 24, 896, 14, 2, 4864, 151936, true},
    {"tinyllama-1.1b", 22, 2048, 32, 4, 5632, 32000, false},
};

struct NamedShape {
  std::string name;
  Shape shape;
};

std::vector<NamedShape> tensors_of(const ModelShape& model) {
  const uint64_t hidden = model.hidden_dim;
  const uint64_t kv = hidden / model.n_heads * model.n_kv_heads;
  std::vector<NamedShape> tensors = {{"token_embd.weight", {hidden, model.n_tokens, 1, 1}},
                                     {"output_norm.weight", {hidden, 1, 1, 1}}};
  if (!model.tied_output) tensors.push_back({"output.weight", {hidden, model.n_tokens, 1, 1}});
  for (uint32_t layer = 0; layer < model.n_layers; ++layer) {
    const auto add = [&](std::string_view part, uint64_t n_columns, uint64_t n_rows) {
      tensors.push_back({cat("blk.", layer, ".", part, ".weight"), {n_columns, n_rows, 1, 1}});
    };
    add("attn_norm", hidden, 1);
    add("attn_q", hidden, hidden);
    add("attn_k", hidden, kv);
    add("attn_v", hidden, kv);
    add("attn_output", hidden, hidden);
    add("ffn_norm", hidden, 1);
    add("ffn_gate", hidden, model.ffn_dim);
    add("ffn_up", hidden, model.ffn_dim);
    add("ffn_down", model.ffn_dim, hidden);
  }
  return tensors;
}

// <unk>, <s>, </s>, the 256 bytes, and made-up words: enough for every engine to load it.
void set_vocabulary(GgufWriter& file, uint32_t n_tokens) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {2, 3, 3};
  std::vector<float> scores(n_tokens, 0.0f);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    tokens.emplace_back(name);
    types.push_back(6);
  }
  while (tokens.size() < n_tokens) {
    scores[tokens.size()] = -static_cast<float>(tokens.size());
    tokens.push_back(cat("\xe2\x96\x81w", tokens.size()));
    types.push_back(1);
  }
  file.set("tokenizer.ggml.model", "llama");
  file.set("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  file.set("tokenizer.ggml.scores", std::span<const float>(scores));
  file.set("tokenizer.ggml.token_type", std::span<const int32_t>(types));
  file.set("tokenizer.ggml.bos_token_id", 1u);
  file.set("tokenizer.ggml.eos_token_id", 2u);
  file.set("tokenizer.ggml.unknown_token_id", 0u);
}

void set_metadata(GgufWriter& file, const ModelShape& model, const Recipe& recipe) {
  file.set("general.architecture", "llama");
  file.set("general.name", cat(model.name, " shape, random weights, ", recipe.name));
  file.set("llama.context_length", 4096u);
  file.set("llama.embedding_length", model.hidden_dim);
  file.set("llama.block_count", model.n_layers);
  file.set("llama.feed_forward_length", model.ffn_dim);
  file.set("llama.attention.head_count", model.n_heads);
  file.set("llama.attention.head_count_kv", model.n_kv_heads);
  file.set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  file.set("llama.rope.dimension_count", model.hidden_dim / model.n_heads);
  file.set("llama.rope.freq_base", 10000.0f);
  file.set("llama.vocab_size", model.n_tokens);
  set_vocabulary(file, model.n_tokens);
}

std::vector<DType> types_of(const std::vector<NamedShape>& tensors, const Recipe& recipe,
                            const ModelShape& model) {
  std::vector<TensorInfo> infos;
  for (const NamedShape& tensor : tensors) {
    infos.push_back({tensor.name, DType::f32, tensor.shape, 0, 0});
  }
  ModelTraits traits;
  traits.n_layers = model.n_layers;
  traits.heads_of_value = model.n_heads / model.n_kv_heads;
  return recipe_types(recipe, traits, infos);
}

// Norms are 1; matrices keep the size of the stream they are added to.
std::vector<std::byte> random_tensor(const NamedShape& tensor, const DTypeInfo& type,
                                     std::mt19937& random) {
  const auto n = static_cast<size_t>(tensor.shape[0] * tensor.shape[1]);
  std::vector<float> values(n, 1.0f);
  if (tensor.shape[1] > 1) {
    std::normal_distribution<float> normal(0.0f, 0.02f);
    std::generate(values.begin(), values.end(), [&] { return normal(random); });
  }
  std::vector<std::byte> bytes(n / type.block_size * type.block_bytes);
  find_quantizer(type.type)(values.data(), bytes.data(), n);
  return bytes;
}

Status make_model(std::string_view shape_name, std::string_view type, const std::string& path) {
  const auto* model = std::find_if(std::begin(kShapes), std::end(kShapes),
                                   [&](const ModelShape& s) { return s.name == shape_name; });
  if (model == std::end(kShapes)) {
    return Error{ErrorCode::invalid_argument,
                 "unknown shape (known: smollm2-135m, qwen2.5-0.5b, tinyllama-1.1b)"};
  }
  KINGLET_ASSIGN(const Recipe recipe, find_recipe(type));
  GgufWriter file;
  set_metadata(file, *model, recipe);
  const auto tensors = tensors_of(*model);
  const std::vector<DType> types = types_of(tensors, recipe, *model);
  for (size_t i = 0; i < tensors.size(); ++i) {
    file.add_tensor(tensors[i].name, types[i], tensors[i].shape);
  }
  KINGLET_TRY(file.open(path));
  std::mt19937 random(1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    KINGLET_TRY(file.write_tensor(random_tensor(tensors[i], dtype_info(types[i]), random)));
  }
  return file.close();
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: kinglet_make_model SHAPE TYPE OUT\n");
    return 1;
  }
  const kinglet::Status status = kinglet::make_model(argv[1], argv[2], argv[3]);
  if (!status.ok())
    std::fprintf(stderr, "kinglet_make_model: %s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
