// The smallest llama that runs, built in memory. Tests change it in one place.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "gguf/file.h"
#include "gguf/gguf_builder.h"
#include "tensor/quantizer.h"

namespace kinglet {

struct TinyModel {
  uint32_t n_layers = 2;
  uint32_t hidden_dim = 8;
  uint32_t n_heads = 2;
  uint32_t n_kv_heads = 1;
  uint32_t head_dim = 4;
  std::vector<uint32_t> n_heads_by_layer = {};  // in place of n_heads
  std::vector<uint32_t> n_kv_heads_by_layer = {};
  uint32_t ffn_dim = 12;
  uint32_t context_length = 32;
  uint32_t n_tokens = 8;      // of the vocabulary
  uint32_t n_embeddings = 8;  // rows of the embedding
  std::string architecture = "llama";
  std::string without_tensor = {};    // is left out
  std::string misshapen_tensor = {};  // has one column too many
  std::string f16_tensor = {};        // is stored as F16
  std::string extra_tensor = {};      // is added, and not used
  std::string without_key = {};       // is left out
  bool has_weights = true;
  float weight = 0.5f;                          // scales all weights
  float norm_weight = 1.0f;                     // also scales those of norms
  DType matrix_type = DType::f32;               // of tensors with more than one row
  std::function<void(GgufBuilder&)> edit = {};  // adds keys or tensors
  // Sees the numbers of a tensor, and may change them.
  std::function<void(const std::string& name, std::vector<float>& values)> change = {};

  Bytes build() const {
    GgufBuilder file;
    const auto set = [&](std::string_view key, const auto& value) {
      if (key != without_key) file.set(key, value);
    };
    const auto set_size = [&](std::string_view key, uint32_t value) {
      set(cat(architecture, ".", key), value);
    };
    set("general.architecture", std::string_view(architecture));
    set_size("block_count", n_layers);
    set_size("embedding_length", hidden_dim);
    set_size("feed_forward_length", ffn_dim);
    set_size("context_length", context_length);
    const auto set_heads = [&](std::string_view key, const std::vector<uint32_t>& by_layer,
                               uint32_t of_all) {
      const std::string name = cat(architecture, ".", key);
      if (by_layer.empty()) return set_size(key, of_all);
      if (name != without_key) file.set_array(name, by_layer);
    };
    set_heads("attention.head_count", n_heads_by_layer, n_heads);
    set_heads("attention.head_count_kv", n_kv_heads_by_layer, n_kv_heads);
    set(cat(architecture, ".attention.layer_norm_rms_epsilon"), 1e-5f);
    add_vocabulary(file);

    add(file, "token_embd.weight", hidden_dim, n_embeddings);
    for (uint32_t layer = 0; layer < n_layers; ++layer) {
      const auto name = [layer](std::string_view part) {
        return cat("blk.", layer, ".", part, ".weight");
      };
      const uint32_t q_dim =
          head_dim * (n_heads_by_layer.empty() ? n_heads : n_heads_by_layer[layer]);
      const uint32_t kv_dim =
          head_dim * (n_kv_heads_by_layer.empty() ? n_kv_heads : n_kv_heads_by_layer[layer]);
      add(file, name("attn_norm"), hidden_dim, 1);
      add(file, name("attn_q"), hidden_dim, q_dim);
      add(file, name("attn_k"), hidden_dim, kv_dim);
      add(file, name("attn_v"), hidden_dim, kv_dim);
      add(file, name("attn_output"), q_dim, hidden_dim);
      add(file, name("ffn_norm"), hidden_dim, 1);
      add(file, name("ffn_gate"), hidden_dim, ffn_dim);
      add(file, name("ffn_up"), hidden_dim, ffn_dim);
      add(file, name("ffn_down"), ffn_dim, hidden_dim);
    }
    add(file, "output_norm.weight", hidden_dim, 1);
    if (!extra_tensor.empty()) add(file, extra_tensor, hidden_dim, 1);
    if (edit != nullptr) edit(file);
    return file.build();
  }

 private:
  // The tokens <unk>, <s>, </s>, and then letters.
  void add_vocabulary(GgufBuilder& file) const {
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types = {2, 3, 3};
    for (char letter = 'a'; tokens.size() < n_tokens; ++letter) {
      tokens.push_back(std::string(1, letter));
      types.push_back(1);
    }
    file.set("tokenizer.ggml.model", "llama");
    file.set_array("tokenizer.ggml.tokens", tokens);
    file.set_array("tokenizer.ggml.scores", std::vector<float>(n_tokens, 0.0f));
    file.set_array("tokenizer.ggml.token_type", types);
    file.set_uint32("tokenizer.ggml.unknown_token_id", 0);
    file.set_uint32("tokenizer.ggml.bos_token_id", 1);
    file.set_uint32("tokenizer.ggml.eos_token_id", 2);
    file.set("tokenizer.ggml.add_space_prefix", false);
  }

  void add(GgufBuilder& file, const std::string& name, uint32_t n_columns, uint32_t n_rows) const {
    if (!has_weights || name == without_tensor) return;
    if (name == misshapen_tensor) ++n_columns;
    const bool is_norm = name.find("norm") != std::string::npos;
    const float scale = is_norm ? weight * norm_weight : weight;
    std::vector<float> values(size_t{n_columns} * n_rows);
    for (size_t i = 0; i < values.size(); ++i) {
      // Deterministic, and different for each element.
      values[i] = scale * std::sin(static_cast<float>(i * 7 + name.size() * 3 + 1));
    }
    if (change != nullptr) change(name, values);
    const std::vector<uint64_t> dims =
        n_rows == 1 ? std::vector<uint64_t>{n_columns} : std::vector<uint64_t>{n_columns, n_rows};
    const DType usual = n_rows == 1 ? DType::f32 : matrix_type;
    const DType type = name == f16_tensor ? DType::f16 : usual;
    const DTypeInfo& info = dtype_info(type);
    Bytes bytes(values.size() / info.block_size * info.block_bytes);
    find_quantizer(type)(values.data(), bytes.data(), values.size());
    file.add_tensor(name, type, dims, bytes);
  }
};

// Loads a file from bytes, as from a stream.
inline Result<GgufFile> load_gguf(const Bytes& bytes) {
  GgufLoader loader(bytes.size());
  size_t done = 0;
  while (done < bytes.size()) {
    KINGLET_ASSIGN(const auto room, loader.reserve(bytes.size() - done));
    if (room.empty()) break;
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(done), room.size(), room.begin());
    KINGLET_TRY(loader.commit(room.size()));
    done += room.size();
  }
  return loader.finish();
}

}  // namespace kinglet
