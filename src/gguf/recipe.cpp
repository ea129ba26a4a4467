#include "gguf/recipe.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"

namespace kinglet {
namespace {

using enum DType;
using enum Which;

constexpr Recipe uniform(std::string_view name, uint32_t file_type, DType type) {
  return {name, file_type, type, type, {type}, {type}, type, type};
}

// All matrices have one type, except the output, which is the most sensitive.
constexpr Recipe plain(std::string_view name, uint32_t file_type, DType type) {
  return {name, file_type, type, q6_k, {type}, {type}, type, type};
}

// IQ1 and IQ2. `finer`: of values, and of the first down projections.
constexpr Recipe below_3_bits(std::string_view name, uint32_t file_type, DType type, DType finer,
                              DType attention, DType embedding) {
  Recipe recipe{name,
                file_type,
                type,
                q5_k,
                {finer, grouped_or_experts, q4_k},
                {type, first8th, finer},
                attention,
                q5_k,
                embedding};
  recipe.is_below_3_bits = true;
  return recipe;
}

// A row for each mix: name, file type, matrices, output, values, down, attention, attention with
// eight experts, embedding, experts, queries, gates.
constexpr Recipe kRecipes[] = {
    uniform("F32", 0, f32),
    uniform("F16", 1, f16),
    uniform("BF16", 32, bf16),
    uniform("Q8_0", 7, q8_0),
    plain("Q4_0", 2, q4_0),
    plain("Q4_1", 3, q4_1),
    plain("Q5_0", 8, q5_0),
    plain("Q5_1", 9, q5_1),
    {"Q2_K", 10, q2_k, q6_k, {q3_k, grouped, q4_k}, {q3_k}, q3_k, q5_k},
    {"Q3_K_S", 11, q3_k, q6_k, {q3_k}, {q3_k}, q3_k, q5_k},
    {"Q3_K_M", 12, q3_k, q6_k, {q4_k, first2, q5_k}, {q4_k, first16th, q5_k}, q4_k, q5_k},
    {"Q3_K_L", 13, q3_k, q6_k, {q5_k}, {q5_k}, q5_k, q3_k},
    {"Q4_K_S", 14, q4_k, q6_k, {q4_k, first4, q5_k}, {q4_k, first8th, q5_k}, q4_k, q5_k},
    {"Q4_K_M", 15, q4_k, q6_k, {q4_k, spread, q6_k}, {q4_k, spread, q6_k}, q4_k, q5_k},
    plain("Q5_K_S", 16, q5_k),
    {"Q5_K_M", 17, q5_k, q6_k, {q5_k, spread, q6_k}, {q5_k, spread, q6_k}, q5_k, q5_k},
    plain("Q6_K", 18, q6_k),
    below_3_bits("IQ1_S", 24, iq1_s, q2_k, iq2_xxs, q2_k),
    below_3_bits("IQ1_M", 31, iq1_m, q2_k, iq2_xxs, q2_k),
    below_3_bits("IQ2_XXS", 19, iq2_xxs, q2_k, iq2_xxs, q2_k),
    below_3_bits("IQ2_XS", 20, iq2_xs, q2_k, iq2_xs, q2_k),
    below_3_bits("IQ2_S", 28, iq2_xs, iq3_s, iq3_s, iq3_s),
    below_3_bits("IQ2_M", 29, iq2_s, iq3_s, iq3_s, iq3_s),
    {"IQ3_XXS",
     23,
     iq3_xxs,
     q5_k,
     {iq3_s, grouped, q4_k},
     {q3_k, first8th, q4_k},
     iq3_s,
     q5_k,
     iq3_s,
     iq3_xxs,
     iq2_s},
    {"IQ3_XS",
     22,
     iq3_s,
     q6_k,
     {iq3_s, grouped, q4_k},
     {iq3_s},
     iq3_s,
     q5_k,
     iq3_s,
     iq3_s,
     iq3_xxs,
     {iq3_s, middle, iq3_xxs}},
    {"IQ3_S", 26, iq3_s, q6_k, {iq3_s, grouped, q4_k}, {iq3_s}, iq3_s, q5_k},
    {"IQ3_M", 27, iq3_s, q6_k, {q4_k}, {iq3_s, first8th_or_spread8, q4_k}, q4_k, q5_k},
    {"IQ4_NL", 25, iq4_nl, q6_k, {iq4_nl, grouped, q5_k}, {iq4_nl, first8th, q5_k}, iq4_nl, q5_k},
    {"IQ4_XS", 30, iq4_xs, q6_k, {iq4_xs, grouped, q5_k}, {iq4_xs, first8th, q5_k}, iq4_xs, q5_k},
    {"TQ1_0", 36, tq1_0, q6_k, {tq1_0}, {tq1_0}, tq1_0, tq1_0, q4_k},
    {"TQ2_0", 37, tq2_0, q6_k, {tq2_0}, {tq2_0}, tq2_0, tq2_0, q4_k},
    {"Q2_0", 41, q2_0, q6_k, {q2_0}, {q2_0}, q2_0, q2_0, q4_k},
    uniform("Q1_0", 40, q1_0),
    {"NVFP4", 39, nvfp4, q6_k, {nvfp4}, {nvfp4}, nvfp4, nvfp4, q4_k},
    {"MXFP4_MOE", 38, q8_0, q8_0, {q8_0}, {q8_0}, q8_0, q8_0, q8_0, mxfp4},
};

struct Alias {
  std::string_view name;
  std::string_view recipe;
};

constexpr Alias kAliases[] = {
    {"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}, {"MXFP4", "MXFP4_MOE"}};

// The type that replaces `type` if rows are not whole blocks of it.
struct Fallback {
  DType type;
  DType smaller;
};

constexpr Fallback kFallbacks[] = {
    {q2_k, q4_0},     {q3_k, q4_0},      {tq1_0, q4_0},   {tq2_0, q4_0},     {q1_0, q4_0},
    {q2_0, q4_0},     {nvfp4, q4_0},     {q4_k, q5_0},    {q5_k, q5_1},      {q6_k, q8_0},
    {iq4_xs, iq4_nl}, {iq1_s, iq4_nl},   {iq1_m, iq4_nl}, {iq2_xxs, iq4_nl}, {iq2_xs, iq4_nl},
    {iq2_s, iq4_nl},  {iq3_xxs, iq4_nl}, {iq3_s, iq4_nl}};

DType fit_row(DType type, uint64_t n_columns) {
  for (const Fallback& fallback : kFallbacks) {
    if (fallback.type == type && n_columns % dtype_info(type).block_size != 0) {
      type = fallback.smaller;
      break;
    }
  }
  return n_columns % dtype_info(type).block_size == 0 ? type : f16;
}

// Parts of the names of matrices that keep their type: they are small, or matter more than their
// size suggests (norms, routers, positions, convolutions, states).
constexpr std::string_view kKept[] = {
    "_norm.weight",
    // routers
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    // connections between the layers of Gemma 3n
    "altup",
    "laurel",
    "per_layer_model_proj",
    // convolutions and states
    "ssm_conv1d",
    "shortconv.conv.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    // positions
    "attn_rel_b.weight",
    ".position_embd",
    ".rel_pos",
    // encoders of images and sound
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".patch_embd",
    ".patch_merger",
    "mm.input_projection",  // the columns are those of the sums: Gemma 3 stores it transposed
    "a.rvq.codebook",
    "mm.a.code_embd",
};

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

bool keeps_type(const TensorInfo& tensor) {
  const bool is_vector = std::all_of(tensor.shape.begin() + 1, tensor.shape.end(),
                                     [](uint64_t size) { return size == 1; });
  return is_vector || !tensor.name.ends_with("weight") || tensor.name == "position_embd.weight" ||
         tensor.name == "token_types.weight" ||
         std::any_of(std::begin(kKept), std::end(kKept),
                     [&](std::string_view part) { return contains(tensor.name, part); });
}

enum class Kind { output, embedding, values, keys, queries, attention, gate, up, down, other };

Kind kind_of(std::string_view tensor) {
  constexpr std::pair<std::string_view, Kind> kParts[] = {{"attn_qkv.weight", Kind::values},
                                                          {"attn_kv_b.weight", Kind::values},
                                                          {"attn_v.weight", Kind::values},
                                                          {"attn_k.weight", Kind::keys},
                                                          {"attn_q.weight", Kind::queries},
                                                          {"attn_output.weight", Kind::attention},
                                                          {"ffn_up", Kind::up},
                                                          {"ffn_gate", Kind::gate},
                                                          {"ffn_down", Kind::down}};
  if (tensor == "output.weight") return Kind::output;
  if (tensor == "token_embd.weight" || tensor == "per_layer_token_embd.weight") {
    return Kind::embedding;
  }
  for (const auto& [part, kind] : kParts) {
    if (contains(tensor, part)) return kind;
  }
  return Kind::other;
}

// Chooses the types of tensors, which it must get layer by layer.
class Chooser {
 public:
  Chooser(const Recipe& recipe, const ModelTraits& model, std::span<const TensorInfo> tensors)
      : recipe_(recipe), model_(model) {
    for (const TensorInfo& tensor : tensors) {
      const Kind kind = kind_of(tensor.name);
      if (kind == Kind::values) ++n_values_;
      if (kind == Kind::output) tied_ = false;
    }
  }

  DType choose(const TensorInfo& tensor) {
    if (keeps_type(tensor)) return tensor.type;
    const bool is_float = dtype_info(recipe_.matrices).block_size == 1;
    return is_float ? recipe_.matrices : fit_row(type_of(tensor), tensor.shape[0]);
  }

 private:
  DType type_of(const TensorInfo& tensor) {
    const bool has_eight_experts = model_.n_experts == 8;
    const Kind kind = kind_of(tensor.name);
    if (kind == Kind::output || (kind == Kind::embedding && tied_)) {
      const bool fits = tensor.shape[0] % dtype_info(recipe_.output).block_size == 0;
      return fits || recipe_.output != q5_k ? recipe_.output : q8_0;
    }
    // If a mix has a type for experts, no other rule applies to them.
    if (tensor.shape[2] > 1 && recipe_.experts != recipe_.matrices) return recipe_.experts;
    switch (kind) {
      case Kind::embedding:
        return recipe_.embedding;
      case Kind::values: {
        const DType type = pick(recipe_.values, i_value_++, n_values_);
        if (recipe_.is_below_3_bits) return type;
        if (has_eight_experts) return q8_0;
        return model_.is_70b && (type == q3_k || type == q4_k) ? q5_k : type;
      }
      case Kind::keys:
        if (has_eight_experts) return recipe_.is_below_3_bits ? q4_k : q8_0;
        return recipe_.queries;
      case Kind::queries:
        return recipe_.queries;
      case Kind::attention:
        return has_eight_experts ? recipe_.attention8 : recipe_.attention;
      case Kind::gate:
        return pick(recipe_.gates, layer(tensor, i_gate_++), model_.n_layers);
      case Kind::up:
        return pick(recipe_.gates, layer(tensor, i_up_++), model_.n_layers);
      case Kind::down: {
        const uint32_t i = i_down_++;
        return pick(recipe_.down, recipe_.is_below_3_bits ? i : layer(tensor, i), model_.n_layers);
      }
      default:
        return recipe_.matrices;
    }
  }

  // The place of matrix i of its kind among the layers. With experts, a layer may have several.
  uint32_t layer(const TensorInfo& tensor, uint32_t i) const {
    return model_.n_experts > 1 ? layer_of(tensor.name).value_or(i) : i;
  }

  DType pick(const Choice& choice, uint32_t i, uint32_t n) const {
    return is_among(choice.which, i, n) ? choice.other : choice.type;
  }

  bool is_among(Which which, uint32_t i, uint32_t n) const {
    const uint32_t eighth = n / 8;
    switch (which) {
      case none:
        return false;
      case first2:
        return i < 2;
      case first4:
        return i < 4;
      case first16th:
        return i < n / 16;
      case first8th:
        return i < eighth;
      case spread:
        return i < eighth || i >= uint64_t{n} * 7 / 8 || (i - eighth) % 3 == 2;
      case first8th_or_spread8:
        return is_among(model_.n_experts == 8 ? spread : first8th, i, n);
      case middle:
        return i >= eighth && i < uint64_t{n} * 7 / 8;
      case grouped:
        return model_.heads_of_value >= 4;
      case grouped_or_experts:
        return model_.heads_of_value >= 4 || model_.n_experts >= 4;
    }
    return false;
  }

  const Recipe& recipe_;
  const ModelTraits& model_;
  bool tied_ = true;  // whether the embedding is also the output
  uint32_t n_values_ = 0;
  uint32_t i_value_ = 0;
  uint32_t i_gate_ = 0;
  uint32_t i_up_ = 0;
  uint32_t i_down_ = 0;
};

// Returns a number, or the first number of an array; `fallback` if there is neither.
uint32_t first_number(const GgufHeader& header, std::string_view key, uint32_t fallback) {
  const MetadataValue* value = header.find(key);
  if (value == nullptr) return fallback;
  std::optional<uint64_t> number = value->as_uint();
  if (const auto array = value->as_array()) {
    array->for_each([&](uint64_t i, const MetadataValue& element) {
      if (i == 0) number = element.as_uint();
    });
  }
  return number ? static_cast<uint32_t>(*number) : fallback;
}

// Whether llama.cpp takes the model for one of 70B parameters, according to its number of layers.
bool has_70b_layers(std::string_view architecture, uint32_t n_layers) {
  if (architecture == "jais2") return n_layers == 68;
  const bool comes_in_70b = architecture == "llama" || architecture == "qwen2" ||
                            architecture == "deci" || architecture == "olmo";
  return comes_in_70b && n_layers == 80;
}

}  // namespace

std::optional<uint32_t> layer_of(std::string_view tensor) {
  constexpr std::string_view kPrefix = "blk.";
  if (!tensor.starts_with(kPrefix)) return std::nullopt;
  uint32_t layer = 0;
  const char* begin = tensor.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(begin, tensor.data() + tensor.size(), layer);
  return error == std::errc() ? std::optional(layer) : std::nullopt;
}

Result<Recipe> find_recipe(std::string_view name) {
  const auto is_named = [&](std::string_view known) { return equal_ignoring_case(name, known); };
  std::string known;
  for (const Alias& alias : kAliases) {
    if (is_named(alias.name)) name = alias.recipe;
  }
  for (const Recipe& recipe : kRecipes) {
    if (is_named(recipe.name)) return recipe;
    known += cat(known.empty() ? "" : ", ", recipe.name);
  }
  return Error{ErrorCode::invalid_argument,
               cat("cannot quantize to ", in_quotes(name), " (known: ", known, ")")};
}

Recipe with_importance(Recipe recipe) {
  switch (recipe.matrices) {
    case iq4_nl:
    case iq4_xs:
      recipe.down = {recipe.matrices};
      break;
    case iq3_xxs:
      recipe.values.type = iq3_xxs;
      recipe.down = {iq3_xxs};
      break;
    case q4_0:
      recipe.down = {q4_0, first8th, q4_1};
      break;
    case q5_0:
      recipe.down = {q5_0, first8th, q5_1};
      break;
    default:
      break;
  }
  return recipe;
}

bool needs_importance(std::string_view tensor, DType type) {
  constexpr DType kNeedMatrix[] = {iq1_s, iq1_m, iq2_xxs, iq2_xs, iq2_s, iq3_xxs};
  const Kind kind = kind_of(tensor);
  return kind != Kind::output && kind != Kind::embedding &&
         std::find(std::begin(kNeedMatrix), std::end(kNeedMatrix), type) != std::end(kNeedMatrix);
}

std::string_view mix_name(uint32_t file_type) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.file_type == file_type) return recipe.name;
  }
  return {};
}

Result<ModelTraits> read_traits(const GgufHeader& header) {
  KINGLET_ASSIGN(const std::string_view architecture,
                 header.require_string("general.architecture"));
  ModelTraits model;
  // A file that reads pictures. Like llama.cpp, which knows nothing of its layers: where a rule
  // counts layers, all of them get the finer type.
  if (architecture == "clip") {
    model.heads_of_value = 0;
    return model;
  }
  KINGLET_ASSIGN(model.n_layers, header.require_uint(cat(architecture, ".block_count")));
  const auto number = [&](std::string_view key, uint32_t fallback) {
    return first_number(header, cat(architecture, ".", key), fallback);
  };
  model.n_experts = number("expert_count", 0);
  const uint32_t n_heads = number("attention.head_count", 0);
  const uint32_t n_value_heads = number("attention.head_count_kv", n_heads);
  model.heads_of_value = n_value_heads == 0 ? 0 : n_heads / n_value_heads;
  model.is_70b = has_70b_layers(architecture, model.n_layers) &&
                 (architecture != "llama" || n_heads != n_value_heads);
  return model;
}

std::vector<DType> recipe_types(const Recipe& recipe, const ModelTraits& model,
                                std::span<const TensorInfo> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // The order is by layer, and by name within a layer. Tensors without a layer come first.
  const auto place = [&](size_t i) {
    return std::pair(layer_of(tensors[i].name), tensors[i].name);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  Chooser chooser(recipe, model, tensors);
  std::vector<DType> types(tensors.size());
  for (const size_t i : order) types[i] = chooser.choose(tensors[i]);
  return types;
}

}  // namespace kinglet
