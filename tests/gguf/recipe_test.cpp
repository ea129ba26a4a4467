// The type that each tensor gets: the one that llama.cpp chose for the same tensor.
#include "gguf/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "gguf_builder.h"
#include "support.h"

namespace kinglet {
namespace {

// A tensor, or the same tensor of several layers; the name has * in place of the layer.
struct TensorLine {
  std::string name;
  Shape shape = {1, 1, 1, 1};
  std::vector<int> layers = {-1};
};

// Tensors that get the same types, in the order of their layers.
struct Group {
  std::vector<TensorLine> tensors;
  std::vector<std::string> types_of_mixes;  // "Q4_0,Q5_1 2*Q5_K Q4_K"
};

struct Model {
  std::string name;
  ModelTraits traits;
  std::vector<Group> groups;
};

std::vector<int> parse_layers(const std::string& text) {
  std::vector<int> layers;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    const size_t dash = range.find('-');
    const int first = std::stoi(range);
    const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
    for (int layer = first; layer <= last; ++layer) layers.push_back(layer);
  }
  return layers;
}

// Reads tests/fixtures/recipes.txt: its first lines describe the format.
std::vector<Model> read_models() {
  std::istringstream file(read_text_fixture("recipes.txt"));
  std::vector<Model> models;
  bool after_types = true;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "model") {
      Model& model = models.emplace_back();
      std::string architecture;
      uint32_t n_heads, n_kv_heads;
      words >> model.name >> architecture >> model.traits.n_layers >> n_heads >> n_kv_heads >>
          model.traits.n_experts;
      model.traits.heads_of_value = n_kv_heads == 0 ? 0 : n_heads / n_kv_heads;
      model.traits.is_70b = model.name == "llama-70b";
      after_types = true;
    } else if (first == "tensor") {
      if (after_types) models.back().groups.emplace_back();
      TensorLine& tensor = models.back().groups.back().tensors.emplace_back();
      std::string layers;
      words >> tensor.name >> tensor.shape[0] >> tensor.shape[1] >> tensor.shape[2];
      if (words >> layers) tensor.layers = parse_layers(layers);
      after_types = false;
    } else if (first != "#") {
      models.back().groups.back().types_of_mixes.push_back(line.substr(2));
      after_types = true;
    }
  }
  return models;
}

// The types of n layers in a mix; empty if the group does not have the mix.
std::vector<std::string> expected_types(const Group& group, const std::string& mix, size_t n) {
  for (const std::string& line : group.types_of_mixes) {
    if (line == "kept") return std::vector<std::string>(n, "kept");
    std::istringstream words(line);
    std::string mixes;
    words >> mixes;
    if (("," + mixes + ",").find("," + mix + ",") == std::string::npos) continue;
    std::vector<std::string> types;
    for (std::string word; words >> word;) {
      const size_t star = word.find('*');
      const int count = star == std::string::npos ? 1 : std::stoi(word);
      types.insert(types.end(), static_cast<size_t>(count), word.substr(star + 1));
    }
    return types.size() == 1 ? std::vector<std::string>(n, types[0]) : types;
  }
  return {};
}

constexpr const char* kMixes[] = {"F16",    "Q8_0",    "Q4_0",   "Q5_1",    "Q2_K",     "Q3_K_S",
                                  "Q3_K_M", "Q3_K_L",  "Q4_K_S", "Q4_K_M",  "Q5_K_S",   "Q5_K_M",
                                  "Q6_K",   "IQ1_S",   "IQ1_M",  "IQ2_XXS", "IQ2_XS",   "IQ2_S",
                                  "IQ2_M",  "IQ3_XXS", "IQ3_XS", "IQ3_S",   "IQ3_M",    "IQ4_NL",
                                  "IQ4_XS", "TQ1_0",   "TQ2_0",  "Q2_0",    "MXFP4_MOE"};

// F32 tensors in reversed order: their order in the file does not matter.
struct Tensors {
  std::deque<std::string> names;
  std::vector<TensorInfo> infos;
  std::vector<std::string> expected;

  Tensors(const Model& model, const std::string& mix) {
    for (const Group& group : model.groups) {
      for (const TensorLine& line : group.tensors) add(group, line, mix);
    }
    std::reverse(infos.begin(), infos.end());
    std::reverse(expected.begin(), expected.end());
  }

  void add(const Group& group, const TensorLine& line, const std::string& mix) {
    const auto types = expected_types(group, mix, line.layers.size());
    ASSERT_EQ(types.size(), line.layers.size()) << line.name << " " << mix;
    for (size_t i = 0; i < types.size(); ++i) {
      std::string& name = names.emplace_back(line.name);
      if (const size_t star = name.find('*'); star != std::string::npos) {
        name.replace(star, 1, std::to_string(line.layers[i]));
      }
      infos.push_back({name, DType::f32, line.shape, 0, 0});
      expected.push_back(types[i] == "kept" ? "F32" : types[i]);
    }
  }
};

// Source: llama_tensor_get_type_impl() in llama.cpp's src/llama-quant.cpp.
TEST(Recipe, WithAnImportanceMatrixTheFirstDownProjectionsDiffer) {
  struct Row {
    std::string mix;
    DType without;
    DType with;
  };
  const Row rows[] = {
      {"Q4_0", DType::q4_0, DType::q4_1},     {"Q5_0", DType::q5_0, DType::q5_1},
      {"IQ4_NL", DType::q5_k, DType::iq4_nl}, {"IQ4_XS", DType::q5_k, DType::iq4_xs},
      {"Q4_1", DType::q4_1, DType::q4_1},     {"Q2_K", DType::q3_k, DType::q3_k},
      {"Q4_K_S", DType::q5_k, DType::q5_k},   {"IQ2_XS", DType::q2_k, DType::q2_k},
      {"Q8_0", DType::q8_0, DType::q8_0}};
  const ModelTraits model{.n_layers = 8};
  const std::vector<TensorInfo> tensors = {
      {"blk.0.ffn_down.weight", DType::f16, {256, 256, 1, 1}, 0, 0},
      {"blk.1.ffn_down.weight", DType::f16, {256, 256, 1, 1}, 0, 0}};
  for (const Row& row : rows) {
    const Recipe recipe = find_recipe(row.mix).value();
    const auto plain = recipe_types(recipe, model, tensors);
    const auto weighed = recipe_types(with_importance(recipe), model, tensors);
    EXPECT_EQ(plain[0], row.without) << row.mix;
    EXPECT_EQ(weighed[0], row.with) << row.mix;
    EXPECT_EQ(weighed[1], plain[1]) << row.mix;
  }
}

// Source: the same. Down projections and values of IQ3_XXS need finer types only without a matrix.
TEST(Recipe, WithAnImportanceMatrixIq3XxsHasNoFinerTypes) {
  const std::vector<TensorInfo> tensors = {
      {"blk.0.ffn_down.weight", DType::f16, {256, 256, 1, 1}, 0, 0},
      {"blk.1.ffn_down.weight", DType::f16, {256, 256, 1, 1}, 0, 0},
      {"blk.1.attn_v.weight", DType::f16, {256, 256, 1, 1}, 0, 0}};
  const Recipe recipe = find_recipe("IQ3_XXS").value();
  const auto types = [&](const Recipe& mix, uint32_t heads_of_value) {
    return recipe_types(mix, {.n_layers = 8, .heads_of_value = heads_of_value}, tensors);
  };
  EXPECT_EQ(types(recipe, 1), (std::vector{DType::q4_k, DType::q3_k, DType::iq3_s}));
  EXPECT_EQ(types(with_importance(recipe), 1),
            (std::vector{DType::iq3_xxs, DType::iq3_xxs, DType::iq3_xxs}));
  EXPECT_EQ(types(with_importance(recipe), 4)[2], DType::q4_k);
}

// Source: tensor_requires_imatrix() in the same file.
TEST(Recipe, TypesOfFewBitsNeedAnImportanceMatrix) {
  for (const DTypeInfo& type : dtypes()) {
    const std::string name(type.name);
    const bool needs = name.starts_with("IQ1") || name.starts_with("IQ2") || name == "IQ3_XXS";
    EXPECT_EQ(needs_importance("blk.3.ffn_up.weight", type.type), needs) << name;
    EXPECT_FALSE(needs_importance("output.weight", type.type)) << name;
    EXPECT_FALSE(needs_importance("token_embd.weight", type.type)) << name;
  }
}

TEST(Recipe, EveryTensorGetsTheTypeThatLlamaCppGivesIt) {
  const std::vector<Model> models = read_models();
  ASSERT_EQ(models.size(), 29u);
  for (const Model& model : models) {
    for (const std::string mix : kMixes) {
      const Tensors tensors(model, mix);
      const auto recipe = find_recipe(mix);
      ASSERT_TRUE(recipe.ok()) << mix;
      const std::vector<DType> types = recipe_types(recipe.value(), model.traits, tensors.infos);
      for (size_t i = 0; i < types.size(); ++i) {
        EXPECT_EQ(dtype_info(types[i]).name, tensors.expected[i])
            << model.name << " " << mix << " " << tensors.infos[i].name;
      }
    }
  }
}

std::vector<std::string> types_in(const char* mix, std::span<const TensorInfo> tensors) {
  std::vector<std::string> names;
  for (const DType type : recipe_types(find_recipe(mix).value(), {.n_layers = 1}, tensors)) {
    names.emplace_back(dtype_info(type).name);
  }
  return names;
}

TEST(Recipe, MixesThatAreNotOfLlamaCpp) {
  const TensorInfo tensors[] = {{"token_embd.weight", DType::f16, {512, 1000, 1, 1}, 0, 0},
                                {"output.weight", DType::f16, {512, 1000, 1, 1}, 0, 0},
                                {"blk.0.attn_q.weight", DType::f16, {512, 512, 1, 1}, 0, 0},
                                {"blk.0.ffn_down.weight", DType::f16, {96, 512, 1, 1}, 0, 0},
                                {"blk.0.attn_norm.weight", DType::f32, {512, 1, 1, 1}, 0, 0}};
  EXPECT_EQ(types_in("Q1_0", tensors),
            (std::vector<std::string>{"Q1_0", "Q1_0", "Q1_0", "Q4_0", "F32"}));
  EXPECT_EQ(types_in("NVFP4", tensors),
            (std::vector<std::string>{"Q4_K", "Q6_K", "NVFP4", "Q4_0", "F32"}));
}

TEST(Recipe, FileTypesHaveTheNamesOfMixes) {
  EXPECT_EQ(mix_name(15), "Q4_K_M");
  EXPECT_EQ(mix_name(19), "IQ2_XXS");
  EXPECT_EQ(mix_name(39), "NVFP4");
  EXPECT_EQ(mix_name(40), "Q1_0");
  EXPECT_EQ(mix_name(41), "Q2_0");
  EXPECT_EQ(mix_name(4096), "");
}

TEST(Recipe, TensorsThatAreNotQuantizedKeepAnyType) {
  const TensorInfo tensors[] = {{"blk.0.attn_norm.weight", DType::f16, {512, 1, 1, 1}, 0, 0},
                                {"blk.0.ffn_gate_inp.weight", DType::bf16, {512, 8, 1, 1}, 0, 0},
                                {"blk.0.attn_q_norm.weight", DType::f32, {64, 8, 1, 1}, 0, 0}};
  for (const char* mix : {"Q4_K_M", "F16", "F32"}) {
    const auto types = recipe_types(find_recipe(mix).value(), {.n_layers = 1}, tensors);
    EXPECT_EQ(types, (std::vector{DType::f16, DType::bf16, DType::f32})) << mix;
  }
}

TEST(Recipe, NamesAreFoundInAnyCaseAndByOtherNames) {
  EXPECT_EQ(find_recipe("q4_k_m").value().name, "Q4_K_M");
  EXPECT_EQ(find_recipe("Q3_K").value().name, "Q3_K_M");
  EXPECT_EQ(find_recipe("q4_k").value().name, "Q4_K_M");
  EXPECT_EQ(find_recipe("Q5_K").value().name, "Q5_K_M");
  EXPECT_EQ(find_recipe("mxfp4").value().name, "MXFP4_MOE");
  for (const char* name : {"", "Q4", "Q4_K_MM", "IQ2_XL"}) {
    const auto recipe = find_recipe(name);
    ASSERT_FALSE(recipe.ok()) << name;
    EXPECT_EQ(recipe.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(recipe.error().message.find("known: F32, F16, BF16, Q8_0, "), std::string::npos);
  }
}

TEST(Recipe, TraitsAreReadFromTheFile) {
  const auto file = read_gguf_file(fixture_path("arch/qwen3moe.gguf"));
  ASSERT_TRUE(file.ok());
  const auto traits = read_traits(file.value().header());
  ASSERT_TRUE(traits.ok());
  EXPECT_EQ(traits.value().n_layers, 2u);
  EXPECT_EQ(traits.value().n_experts, 8u);
  EXPECT_EQ(traits.value().heads_of_value, 2u);
  EXPECT_FALSE(traits.value().is_70b);
}

Result<ModelTraits> traits_of(const GgufBuilder& builder) {
  const auto bytes = builder.build();
  const auto header = parse_gguf_header(bytes);
  EXPECT_TRUE(header.ok());
  return read_traits(header.value());
}

TEST(Recipe, HeadsMayBeGivenForEachLayer) {
  GgufBuilder builder;
  builder.set("general.architecture", "hybrid");
  builder.set_uint32("hybrid.block_count", 3);
  builder.set_uint32("hybrid.attention.head_count", 32);
  builder.set_array("hybrid.attention.head_count_kv", std::vector<int32_t>{8, 0, 4});
  EXPECT_EQ(traits_of(builder).value().heads_of_value, 4u);
  GgufBuilder without;
  without.set("general.architecture", "hybrid");
  without.set_uint32("hybrid.block_count", 3);
  without.set_uint32("hybrid.attention.head_count", 32);
  without.set_array("hybrid.attention.head_count_kv", std::vector<int32_t>{0, 8});
  EXPECT_EQ(traits_of(without).value().heads_of_value, 0u);
}

TEST(Recipe, ModelsOf70BParametersAreKnownByTheirLayers) {
  const auto is_70b = [](const std::string& architecture, uint32_t n_layers, uint32_t n_kv_heads) {
    GgufBuilder builder;
    builder.set("general.architecture", architecture);
    builder.set_uint32(architecture + ".block_count", n_layers);
    builder.set_uint32(architecture + ".attention.head_count", 64);
    builder.set_uint32(architecture + ".attention.head_count_kv", n_kv_heads);
    return traits_of(builder).value().is_70b;
  };
  EXPECT_TRUE(is_70b("llama", 80, 8));
  EXPECT_FALSE(is_70b("llama", 80, 64));
  EXPECT_FALSE(is_70b("llama", 32, 8));
  EXPECT_TRUE(is_70b("qwen2", 80, 8));
  EXPECT_FALSE(is_70b("qwen3", 80, 8));
}

TEST(Recipe, AFileThatReadsPicturesNeedsNoLayers) {
  const Bytes bytes = GgufBuilder().set("general.architecture", "clip").build();
  const auto header = parse_gguf_header(bytes);
  ASSERT_TRUE(header.ok());
  const auto traits = read_traits(header.value());
  ASSERT_TRUE(traits.ok()) << traits.error().message;
  EXPECT_EQ(traits.value().n_layers, 0u);
  EXPECT_EQ(traits.value().heads_of_value, 0u);
}

TEST(Recipe, AFileWithoutLayersIsRefused) {
  GgufBuilder builder;
  EXPECT_EQ(traits_of(builder).error().code, ErrorCode::missing_metadata);
  builder.set("general.architecture", "llama");
  EXPECT_EQ(traits_of(builder).error().code, ErrorCode::missing_metadata);
}

}  // namespace
}  // namespace kinglet
