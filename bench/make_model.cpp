// Writes a model with random weights in the shape of a real one: speed does not depend on the
// weights' values. Usage: kinglet_make_model SHAPE TYPE OUT. TYPE: a mix, a type without an
// encoder, or DYNAMIC_2.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/format.h"
#include "gguf/recipe.h"
#include "gguf/writer.h"
#include "model/architecture.h"
#include "spm_vocabulary.h"
#include "tensor/quantizer.h"

namespace kinglet {
namespace {

// What layers without attention have instead, or (mamba2_beside) all layers have beside attention.
enum class Mixer { none, short_convolution, delta_net, mamba2, mamba2_beside };

struct RecurrentShape {
  Mixer mixer = Mixer::none;
  std::span<const uint32_t> attention_layers;  // the layers that have attention, if not all
  uint32_t convolution = 0;
  uint32_t n_groups = 0;  // of a delta net: key heads
  uint32_t n_heads = 0;
  uint32_t head_dim = 0;
  uint32_t n_states = 0;

  uint32_t inner_dim() const { return n_heads * head_dim; }
  uint32_t n_channels() const { return inner_dim() + 2 * n_groups * n_states; }
};

// The shape of models that make vectors of texts.
struct EncoderShape {
  uint32_t context = 0;  // 0: the model makes text
  Pooling pooling = Pooling::none;
  uint32_t dense_dim = 0;  // rows of the matrix between the states and the vector; 0: no matrix
};

// The shape of Gemma 4. The last of every `period` layers has no window, and larger heads.
struct Gemma4Shape {
  uint32_t period = 0;          // 0: not a Gemma 4
  uint32_t n_shared = 0;        // the last layers, which have no keys and values of their own
  uint32_t full_head_dim = 0;   // of layers without a window
  uint32_t shared_ffn_dim = 0;  // of the last layers
  uint32_t input_dim = 0;       // the length of each token's input to each layer
};

struct ModelShape {
  std::string_view name;
  std::string_view architecture;
  uint32_t n_layers;
  uint32_t hidden_dim;
  uint32_t n_heads;
  uint32_t n_kv_heads;
  uint32_t head_dim;
  uint32_t ffn_dim;
  uint32_t n_tokens;
  bool tied_output;
  RecurrentShape recurrent = {};
  uint32_t window = 0;  // of attention; the architecture says in which layers
  EncoderShape encoder = {};
  Gemma4Shape gemma4 = {};

  bool has_attention(uint32_t layer) const {
    const auto& layers = recurrent.attention_layers;
    return layers.empty() || std::find(layers.begin(), layers.end(), layer) != layers.end();
  }
  bool is_bert() const { return architecture == "bert"; }
  bool is_gemma4() const { return gemma4.period > 0; }
  bool is_gemma() const {
    return architecture == "gemma3" || architecture == "gemma-embedding" || is_gemma4();
  }
  bool sees_all(uint32_t layer) const { return (layer + 1) % gemma4.period == 0; }
  bool is_shared(uint32_t layer) const {
    return is_gemma4() && layer >= n_layers - gemma4.n_shared;
  }
  uint32_t head_dim_of(uint32_t layer) const {
    return is_gemma4() && sees_all(layer) ? gemma4.full_head_dim : head_dim;
  }
  uint32_t ffn_dim_of(uint32_t layer) const {
    return is_shared(layer) ? gemma4.shared_ffn_dim : ffn_dim;
  }
};

constexpr uint32_t kLfm2Attention[] = {2, 5, 8, 10, 12, 14};
constexpr uint32_t kQwen35Attention[] = {3, 7, 11, 15, 19, 23};
constexpr uint32_t kQwen35LargeAttention[] = {3, 7, 11, 15, 19, 23, 27, 31};
constexpr uint32_t kGraniteAttention[] = {10, 13, 17, 27};

constexpr RecurrentShape kLfm2 = {
    .mixer = Mixer::short_convolution, .attention_layers = kLfm2Attention, .convolution = 3};
constexpr RecurrentShape kQwen35 = {Mixer::delta_net, kQwen35Attention, 4, 16, 16, 128, 128};
constexpr RecurrentShape kQwen35Large = {
    Mixer::delta_net, kQwen35LargeAttention, 4, 16, 32, 128, 128};
constexpr RecurrentShape kGranite = {Mixer::mamba2, kGraniteAttention, 4, 1, 48, 32, 128};
constexpr RecurrentShape kFalcon = {Mixer::mamba2_beside, {}, 4, 1, 24, 32, 64};

constexpr EncoderShape kMiniLm = {512, Pooling::mean};
constexpr EncoderShape kBge = {512, Pooling::cls};
constexpr Gemma4Shape kGemma4E2b = {5, 20, 512, 12288, 256};
constexpr Gemma4Shape kGemma4E4b = {6, 18, 512, 10240, 256};

constexpr EncoderShape kEmbeddingGemma = {2048, Pooling::mean, 3072};

// From the models' published configurations.
constexpr ModelShape kShapes[] = {
    {"smollm2-135m", "llama", 30, 576, 9, 3, 64, 1536, 49152, true},
    {"qwen2.5-0.5b", "llama", 24, 896, 14, 2, 64, 4864, 151936, true},
    {"tinyllama-1.1b", "llama", 22, 2048, 32, 4, 64, 5632, 32000, false},
    {"smolvlm-256m", "llama", 30, 576, 9, 3, 64, 1536, 49280, true},
    {"lfm2-350m", "lfm2", 16, 1024, 16, 8, 64, 4608, 65536, true, kLfm2},
    {"lfm2-vl-450m", "lfm2", 16, 1024, 16, 8, 64, 4608, 65536, true, kLfm2},
    {"bonsai-1.7b", "qwen3", 28, 2048, 16, 8, 128, 6144, 151669, true},
    {"bonsai-8b", "qwen3", 36, 4096, 32, 8, 128, 12288, 151669, false},
    {"qwen3.5-0.8b", "qwen35", 24, 1024, 8, 2, 256, 3584, 248320, true, kQwen35},
    {"qwen3.5-4b", "qwen35", 32, 2560, 16, 4, 256, 9216, 248320, true, kQwen35Large},
    {"granite-4.0-h-350m", "granitehybrid", 32, 768, 12, 4, 64, 2048, 100352, true, kGranite},
    {"falcon-h1-90m", "falcon-h1", 24, 512, 8, 2, 64, 768, 32768, true, kFalcon},
    {"gemma3-1b", "gemma3", 26, 1152, 4, 1, 256, 6912, 262144, true, {}, 512},
    {"gemma4-e2b", "gemma4", 35, 1536, 8, 1, 256, 6144, 262144, true, {}, 512, {}, kGemma4E2b},
    {"gemma4-e4b", "gemma4", 42, 2560, 8, 2, 256, 10240, 262144, true, {}, 512, {}, kGemma4E4b},
    {"minilm-l6", "bert", 6, 384, 12, 12, 32, 1536, 30522, true, {}, 0, kMiniLm},
    {"bge-small", "bert", 12, 384, 12, 12, 32, 1536, 30522, true, {}, 0, kBge},
    {"embeddinggemma-300m",
     "gemma-embedding",
     24,
     768,
     3,
     1,
     256,
     1152,
     262144,
     true,
     {},
     512,
     kEmbeddingGemma},
};

constexpr uint32_t kTokenTypes = 2;  // of BERT

struct NamedShape {
  std::string name;
  Shape shape;
};

// Adds the tensors of one layer after the other.
class LayerTensors {
 public:
  LayerTensors(const ModelShape& model, std::vector<NamedShape>& tensors)
      : model_(model), recurrent_(model.recurrent), tensors_(tensors) {}

  void add_layer(uint32_t layer) {
    layer_ = layer;
    if (model_.is_bert()) return add_bert_layer();
    add_matrix("attn_norm", model_.hidden_dim, 1);
    if (model_.has_attention(layer)) {
      add_attention();
      if (recurrent_.mixer == Mixer::mamba2_beside) add_mamba2();
    } else if (recurrent_.mixer == Mixer::short_convolution) {
      add_short_convolution();
    } else if (recurrent_.mixer == Mixer::delta_net) {
      add_delta_net();
    } else {
      add_mamba2();
    }
    add_feed_forward();
  }

 private:
  void add(std::string_view part, uint64_t n_columns, uint64_t n_rows = 1) {
    tensors_.push_back({cat("blk.", layer_, ".", part), {n_columns, n_rows, 1, 1}});
  }

  void add_matrix(std::string_view part, uint64_t n_columns, uint64_t n_rows) {
    add(cat(part, ".weight"), n_columns, n_rows);
  }

  void add_biased(std::string_view part, uint64_t n_columns, uint64_t n_rows) {
    add_matrix(part, n_columns, n_rows);
    add(cat(part, ".bias"), n_rows);
  }

  void add_bert_layer() {
    const uint64_t hidden = model_.hidden_dim;
    for (const char* part : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      add_biased(part, hidden, hidden);
    }
    add_layer_norm("attn_output_norm");
    add_biased("ffn_up", hidden, model_.ffn_dim);
    add_biased("ffn_down", model_.ffn_dim, hidden);
    add_layer_norm("layer_output_norm");
  }

  void add_layer_norm(std::string_view part) {
    add_matrix(part, model_.hidden_dim, 1);
    add(cat(part, ".bias"), model_.hidden_dim);
  }

  void add_attention() {
    const bool is_gated = recurrent_.mixer == Mixer::delta_net;
    const uint32_t head_dim = model_.head_dim_of(layer_);
    const uint64_t queries = uint64_t{model_.n_heads} * head_dim;
    const uint64_t keys = uint64_t{model_.n_kv_heads} * head_dim;
    add_matrix("attn_q", model_.hidden_dim, is_gated ? 2 * queries : queries);
    if (!model_.is_shared(layer_)) {
      add_matrix("attn_k", model_.hidden_dim, keys);
      add_matrix("attn_v", model_.hidden_dim, keys);
    }
    add_matrix("attn_output", queries, model_.hidden_dim);
    const bool has_norms = model_.is_gemma() || model_.architecture == "qwen3";
    if (is_gated || has_norms || recurrent_.mixer == Mixer::short_convolution) {
      add_matrix("attn_q_norm", head_dim, 1);
      if (!model_.is_shared(layer_)) add_matrix("attn_k_norm", head_dim, 1);
    }
  }

  void add_short_convolution() {
    add_matrix("shortconv.in_proj", model_.hidden_dim, uint64_t{3} * model_.hidden_dim);
    add_matrix("shortconv.conv", recurrent_.convolution, model_.hidden_dim);
    add_matrix("shortconv.out_proj", model_.hidden_dim, model_.hidden_dim);
  }

  void add_delta_net() {
    add_matrix("attn_qkv", model_.hidden_dim, recurrent_.n_channels());
    add_matrix("attn_gate", model_.hidden_dim, recurrent_.inner_dim());
    add_matrix("ssm_conv1d", recurrent_.convolution, recurrent_.n_channels());
    add("ssm_dt.bias", recurrent_.n_heads);
    add("ssm_a", recurrent_.n_heads);
    add_matrix("ssm_beta", model_.hidden_dim, recurrent_.n_heads);
    add_matrix("ssm_alpha", model_.hidden_dim, recurrent_.n_heads);
    add_matrix("ssm_norm", recurrent_.head_dim, 1);
    add_matrix("ssm_out", recurrent_.inner_dim(), model_.hidden_dim);
  }

  void add_mamba2() {
    const uint64_t rows = recurrent_.inner_dim() + recurrent_.n_channels() + recurrent_.n_heads;
    add_matrix("ssm_in", model_.hidden_dim, rows);
    add_matrix("ssm_conv1d", recurrent_.convolution, recurrent_.n_channels());
    add("ssm_conv1d.bias", recurrent_.n_channels());
    add("ssm_dt.bias", recurrent_.n_heads);
    add("ssm_a", 1, recurrent_.n_heads);
    add("ssm_d", 1, recurrent_.n_heads);
    if (recurrent_.mixer == Mixer::mamba2) add_matrix("ssm_norm", recurrent_.inner_dim(), 1);
    add_matrix("ssm_out", recurrent_.inner_dim(), model_.hidden_dim);
  }

  void add_feed_forward() {
    const bool has_bare_norm = recurrent_.mixer == Mixer::mamba2_beside;
    const bool is_after_attention = recurrent_.mixer == Mixer::delta_net;
    add(has_bare_norm        ? "ffn_norm"
        : is_after_attention ? "post_attention_norm.weight"
                             : "ffn_norm.weight",
        model_.hidden_dim);
    const uint32_t width = model_.ffn_dim_of(layer_);
    add_matrix("ffn_gate", model_.hidden_dim, width);
    add_matrix("ffn_up", model_.hidden_dim, width);
    add_matrix("ffn_down", width, model_.hidden_dim);
    if (model_.is_gemma()) {
      add_matrix("post_attention_norm", model_.hidden_dim, 1);
      add_matrix("post_ffw_norm", model_.hidden_dim, 1);
    }
    if (model_.is_gemma4()) {
      add_matrix("inp_gate", model_.hidden_dim, model_.gemma4.input_dim);
      add_matrix("proj", model_.gemma4.input_dim, model_.hidden_dim);
      add_matrix("post_norm", model_.hidden_dim, 1);
      add_matrix("layer_output_scale", 1, 1);
    }
  }

  const ModelShape& model_;
  const RecurrentShape& recurrent_;
  std::vector<NamedShape>& tensors_;
  uint32_t layer_ = 0;
};

std::vector<NamedShape> tensors_of(const ModelShape& model) {
  const uint64_t hidden = model.hidden_dim;
  const bool is_lfm2 = model.recurrent.mixer == Mixer::short_convolution;
  std::vector<NamedShape> tensors;
  const auto add = [&](std::string_view name, uint64_t n_columns, uint64_t n_rows) {
    tensors.push_back({std::string(name), {n_columns, n_rows, 1, 1}});
  };
  add("token_embd.weight", hidden, model.n_tokens);
  if (model.is_bert()) {
    add("token_types.weight", hidden, kTokenTypes);
    add("position_embd.weight", hidden, model.encoder.context);
    add("token_embd_norm.weight", hidden, 1);
    add("token_embd_norm.bias", hidden, 1);
  } else {
    add(is_lfm2 ? "token_embd_norm.weight" : "output_norm.weight", hidden, 1);
  }
  if (model.is_gemma4()) {
    const uint64_t inputs = uint64_t{model.n_layers} * model.gemma4.input_dim;
    add("per_layer_token_embd.weight", inputs, model.n_tokens);
    add("per_layer_model_proj.weight", hidden, inputs);
    add("per_layer_proj_norm.weight", model.gemma4.input_dim, 1);
    add("rope_freqs.weight", model.gemma4.full_head_dim / 2, 1);
  }
  if (!model.tied_output) add("output.weight", hidden, model.n_tokens);
  if (model.encoder.dense_dim > 0) {
    add("dense_2.weight", hidden, model.encoder.dense_dim);
    add("dense_3.weight", model.encoder.dense_dim, hidden);
  }
  LayerTensors layers(model, tensors);
  for (uint32_t layer = 0; layer < model.n_layers; ++layer) layers.add_layer(layer);
  return tensors;
}

// The tokens that picture readers put before and after a picture of one square.
constexpr std::string_view kPictureTokens[] = {
    "\n\n",         "<fake_token_around_image>", "<row_1_col_1>",
    "<global-img>", "<|image_start|>",           "<|image_end|>"};

// Sets <unk>, <s>, </s>, the 256 bytes, tokens for pictures, and made-up words. Every engine loads
// such a vocabulary.
void set_vocabulary(GgufWriter& file, uint32_t n_tokens) {
  SpmVocabulary vocabulary;
  std::vector<float> scores(n_tokens, 0.0f);
  for (const std::string_view token : kPictureTokens) vocabulary.add(std::string(token), 3);
  for (size_t id = vocabulary.tokens.size(); id < n_tokens; ++id) {
    scores[id] = -static_cast<float>(id);
    vocabulary.add(cat("\xe2\x96\x81w", id), 1);
  }
  vocabulary.set(file, scores);
}

// Sets special tokens with BERT's ids, and words "w<id>".
void set_words(GgufWriter& file, uint32_t n_tokens) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types(n_tokens, 1);
  for (uint32_t id = 0; id < n_tokens; ++id) tokens.push_back(cat("\xe2\x96\x81w", id));
  const auto set_special = [&](std::string_view name, std::string_view key, uint32_t id) {
    tokens[id] = name;
    types[id] = 3;
    file.set(cat("tokenizer.ggml.", key, "_token_id"), id);
  };
  set_special("[PAD]", "padding", 0);
  set_special("[UNK]", "unknown", 100);
  set_special("[CLS]", "bos", 101);
  set_special("[SEP]", "seperator", 102);
  set_special("[MASK]", "mask", 103);
  file.set("tokenizer.ggml.model", "bert");
  file.set("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  file.set("tokenizer.ggml.token_type", std::span<const int32_t>(types));
  file.set("tokenizer.ggml.token_type_count", kTokenTypes);
}

// The number of key heads of each layer. It is 0 for recurrent layers; files say so if the
// architecture does not determine which layers are recurrent.
std::vector<int32_t> kv_heads_of(const ModelShape& model) {
  std::vector<int32_t> n_heads;
  for (uint32_t layer = 0; layer < model.n_layers; ++layer) {
    n_heads.push_back(model.has_attention(layer) ? static_cast<int32_t>(model.n_kv_heads) : 0);
  }
  return n_heads;
}

bool lists_kv_heads(const ModelShape& model) {
  return model.recurrent.mixer == Mixer::short_convolution ||
         model.recurrent.mixer == Mixer::mamba2;
}

void set_bools(GgufWriter& file, const std::string& key, const std::vector<bool>& values) {
  constexpr auto kElement = static_cast<uint32_t>(ValueType::boolean);
  const uint64_t n = values.size();
  std::vector<std::byte> bytes(sizeof kElement + sizeof n);
  std::memcpy(bytes.data(), &kElement, sizeof kElement);
  std::memcpy(bytes.data() + sizeof kElement, &n, sizeof n);
  for (const bool value : values) bytes.push_back(static_cast<std::byte>(value));
  file.copy({key, {ValueType::array, bytes}});
}

// In Gemma 4, some values differ by layer that are the same for all layers of other models.
void set_gemma4(GgufWriter& file, const ModelShape& model) {
  const auto key = [](std::string_view name) { return cat("gemma4.", name); };
  std::vector<bool> slides;
  std::vector<int32_t> widths;
  for (uint32_t layer = 0; layer < model.n_layers; ++layer) {
    slides.push_back(!model.sees_all(layer));
    widths.push_back(static_cast<int32_t>(model.ffn_dim_of(layer)));
  }
  file.set(key("feed_forward_length"), std::span<const int32_t>(widths));
  file.set(key("attention.key_length"), model.gemma4.full_head_dim);
  file.set(key("attention.value_length"), model.gemma4.full_head_dim);
  file.set(key("attention.key_length_swa"), model.head_dim);
  file.set(key("attention.value_length_swa"), model.head_dim);
  file.set(key("attention.shared_kv_layers"), model.gemma4.n_shared);
  file.set(key("attention.sliding_window"), model.window);
  set_bools(file, key("attention.sliding_window_pattern"), slides);
  file.set(key("embedding_length_per_layer_input"), model.gemma4.input_dim);
  file.set(key("rope.dimension_count"), model.gemma4.full_head_dim);
  file.set(key("rope.dimension_count_swa"), model.head_dim);
  file.set(key("rope.freq_base"), 1000000.0f);
  file.set(key("rope.freq_base_swa"), 10000.0f);
}

void set_recurrent(GgufWriter& file, const ModelShape& model) {
  const RecurrentShape& recurrent = model.recurrent;
  const auto set = [&](std::string_view key, auto value) {
    file.set(cat(model.architecture, ".", key), value);
  };
  if (model.window > 0) {
    set("attention.key_length", model.head_dim);
    set("attention.value_length", model.head_dim);
    set("attention.sliding_window", model.window);
  }
  if (recurrent.mixer == Mixer::none) return;
  if (recurrent.mixer == Mixer::short_convolution) {
    set("shortconv.l_cache", recurrent.convolution);
    return;
  }
  set("attention.key_length", model.head_dim);
  set("attention.value_length", model.head_dim);
  set("ssm.conv_kernel", recurrent.convolution);
  set("ssm.inner_size", recurrent.inner_dim());
  set("ssm.state_size", recurrent.n_states);
  set("ssm.time_step_rank", recurrent.n_heads);
  set("ssm.group_count", recurrent.n_groups);
}

void set_rope(GgufWriter& file, const ModelShape& model) {
  const auto key = [&](std::string_view name) { return cat(model.architecture, ".", name); };
  const bool is_partial = model.recurrent.mixer == Mixer::delta_net;
  file.set(key("rope.dimension_count"), is_partial ? model.head_dim / 4 : model.head_dim);
  file.set(key("rope.freq_base"), 10000.0f);
  if (is_partial) {
    constexpr int32_t kSections[] = {11, 11, 10, 0};
    file.set(key("rope.dimension_sections"), std::span<const int32_t>(kSections));
  }
}

void set_granite_scales(GgufWriter& file) {
  file.set("granitehybrid.embedding_scale", 12.0f);
  file.set("granitehybrid.residual_scale", 0.246f);
  file.set("granitehybrid.attention.scale", 0.015625f);
  file.set("granitehybrid.logit_scale", 3.0f);
  constexpr std::byte kFalse[1] = {};  // attention without positions
  file.copy({"granitehybrid.rope.scaling.finetuned", {ValueType::boolean, kFalse}});
}

void set_encoder(GgufWriter& file, const ModelShape& model) {
  const auto key = [&](std::string_view name) { return cat(model.architecture, ".", name); };
  const EncoderShape& encoder = model.encoder;
  if (encoder.context == 0) return;
  file.set(key("pooling_type"), static_cast<uint32_t>(encoder.pooling));
  if (model.is_bert()) file.set(key("attention.layer_norm_epsilon"), 1e-12f);
  if (encoder.dense_dim == 0) return;
  file.set(key("dense_2_feat_in"), model.hidden_dim);
  file.set(key("dense_2_feat_out"), encoder.dense_dim);
  file.set(key("dense_3_feat_in"), encoder.dense_dim);
  file.set(key("dense_3_feat_out"), model.hidden_dim);
}

void set_metadata(GgufWriter& file, const ModelShape& model, const Recipe& recipe) {
  const auto key = [&](std::string_view name) { return cat(model.architecture, ".", name); };
  file.set("general.architecture", model.architecture);
  file.set("general.name", cat(model.name, " shape, random weights, ", recipe.name));
  const uint32_t context = model.encoder.context;
  file.set(key("context_length"), context > 0 ? context : 32768u);
  file.set(key("embedding_length"), model.hidden_dim);
  file.set(key("block_count"), model.n_layers);
  if (!model.is_gemma4()) file.set(key("feed_forward_length"), model.ffn_dim);
  file.set(key("attention.head_count"), model.n_heads);
  if (lists_kv_heads(model)) {
    file.set(key("attention.head_count_kv"), std::span<const int32_t>(kv_heads_of(model)));
  } else {
    file.set(key("attention.head_count_kv"), model.n_kv_heads);
  }
  set_encoder(file, model);
  if (!model.is_bert()) {
    file.set(key("attention.layer_norm_rms_epsilon"), 1e-5f);
    if (!model.is_gemma4()) set_rope(file, model);
  }
  if (model.is_gemma4()) {
    set_gemma4(file, model);
  } else {
    set_recurrent(file, model);
  }
  if (model.recurrent.mixer == Mixer::mamba2) set_granite_scales(file);
  file.set(key("vocab_size"), model.n_tokens);
  if (model.is_bert()) {
    set_words(file, model.n_tokens);
  } else {
    set_vocabulary(file, model.n_tokens);
  }
}

std::vector<DType> types_of(const std::vector<NamedShape>& tensors, const Recipe& recipe,
                            const ModelShape& model) {
  std::vector<TensorInfo> infos;
  for (const NamedShape& tensor : tensors) {
    infos.push_back({tensor.name, DType::f32, tensor.shape, 0, 0});
  }
  ModelTraits traits;
  traits.n_layers = model.n_layers;
  // Heads per key head of the first layer; 0 if it has no attention and the file says so.
  const bool is_recurrent = lists_kv_heads(model) && !model.has_attention(0);
  traits.heads_of_value = is_recurrent ? 0 : model.n_heads / model.n_kv_heads;
  return recipe_types(recipe, traits, infos);
}

// The types of a file that has another one for each kind of matrix, like unsloth's UD-IQ2_XXS.
constexpr std::string_view kDynamic = "DYNAMIC_2";
constexpr std::pair<std::string_view, DType> kDynamicTypes[] = {
    {"token_embd", DType::q5_k}, {"attn_qkv", DType::iq3_xxs}, {"attn_q.", DType::iq3_xxs},
    {"attn_k.", DType::iq3_xxs}, {"attn_v.", DType::q6_k},     {"attn_output", DType::iq4_xs},
    {"attn_gate", DType::iq3_s}, {"ssm_out", DType::q4_k},     {"ssm_alpha", DType::q8_0},
    {"ssm_beta", DType::q8_0},   {"ffn_gate", DType::iq2_xxs}, {"ffn_up", DType::iq2_xs},
    {"ffn_down", DType::iq2_s},
};

DType dynamic_type(const NamedShape& tensor, DType type) {
  if (type == DType::f32) return type;
  for (const auto& [part, dynamic] : kDynamicTypes) {
    if (tensor.name.find(part) != std::string::npos) return dynamic;
  }
  return type;
}

// A matrix repeats its rows after this many: speed does not depend on it, and billions of random
// numbers would take a quarter of an hour. A prime number, so that no kernel finds the same rows in
// the same places.
constexpr size_t kDifferentRows = 1021;

// Norms are 1; matrices keep the magnitude of the stream to which they add; states decay. Works row
// by row, so that the floats of large matrices need no memory.
std::vector<std::byte> random_tensor(const NamedShape& tensor, const DTypeInfo& type,
                                     std::mt19937& random) {
  const auto n_columns = static_cast<size_t>(tensor.shape[0]);
  const auto n_rows = static_cast<size_t>(tensor.shape[1]);
  std::vector<float> row(n_columns, tensor.name.ends_with(".ssm_a") ? -1.0f : 1.0f);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  const size_t row_bytes = type.row_bytes(n_columns);
  std::vector<std::byte> bytes(n_rows * row_bytes);
  for (size_t i = 0; i < n_rows; ++i) {
    std::byte* encoded = bytes.data() + i * row_bytes;
    if (i >= kDifferentRows) {
      std::copy_n(encoded - kDifferentRows * row_bytes, row_bytes, encoded);
      continue;
    }
    if (n_columns > 1 && n_rows > 1) {
      std::generate(row.begin(), row.end(), [&] { return normal(random); });
    }
    find_quantizer(type.type)(row.data(), encoded, n_columns);
  }
  return bytes;
}

// Random blocks of a type that has no encoder. Their scales are small numbers.
std::vector<std::byte> random_blocks(const NamedShape& tensor, const DTypeInfo& type,
                                     std::mt19937& random) {
  const size_t row_bytes = type.row_bytes(static_cast<size_t>(tensor.shape[0]));
  const auto n_rows = static_cast<size_t>(tensor.shape[1]);
  // The upper byte of a scale, or the byte with its upper nibble.
  const size_t exponent = type.type == DType::iq1_m ? 55 : 1;
  std::vector<std::byte> bytes(n_rows * row_bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i >= kDifferentRows * row_bytes) {
      bytes[i] = bytes[i - kDifferentRows * row_bytes];
      continue;
    }
    bytes[i] = static_cast<std::byte>(random());
    if (i % type.block_bytes == exponent) {
      bytes[i] = (bytes[i] & std::byte{0x0f}) | std::byte{0x10};
    }
  }
  return bytes;
}

Status make_model(std::string_view shape_name, std::string_view type, const std::string& path) {
  const auto* model = std::find_if(std::begin(kShapes), std::end(kShapes),
                                   [&](const ModelShape& s) { return s.name == shape_name; });
  if (model == std::end(kShapes)) {
    std::string known;
    for (const ModelShape& shape : kShapes) known += cat(known.empty() ? "" : ", ", shape.name);
    return Error{ErrorCode::invalid_argument, cat("unknown shape (known: ", known, ")")};
  }
  const bool is_dynamic = type == kDynamic;
  if (is_dynamic) type = "Q4_0";
  // A type without an encoder takes the place of Q4_0.
  const DTypeInfo* codebook = find_dtype(type);
  if (codebook != nullptr && find_quantizer(codebook->type) != nullptr) codebook = nullptr;
  KINGLET_ASSIGN(const Recipe recipe, find_recipe(codebook == nullptr ? type : "Q4_0"));
  GgufWriter file;
  set_metadata(file, *model, recipe);
  const auto tensors = tensors_of(*model);
  std::vector<DType> types = types_of(tensors, recipe, *model);
  if (codebook != nullptr) std::replace(types.begin(), types.end(), DType::q4_0, codebook->type);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_dynamic) types[i] = dynamic_type(tensors[i], types[i]);
    file.add_tensor(tensors[i].name, types[i], tensors[i].shape);
  }
  KINGLET_TRY(file.open(path));
  std::mt19937 random(1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto make = find_quantizer(types[i]) != nullptr ? random_tensor : random_blocks;
    KINGLET_TRY(file.write_tensor(make(tensors[i], dtype_info(types[i]), random)));
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
