// How metadata completes an architecture's row, and which metadata is refused.
#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "model/damage.h"
#include "model/tiny_model.h"

namespace kinglet {
namespace {

Result<ModelConfig> read(const TinyModel& tiny) { return load_config(tiny.build()); }

// A tiny model of this architecture with more keys; its tensors do not matter here.
TinyModel tiny_model(const std::string& architecture, std::function<void(GgufBuilder&)> edit = {}) {
  TinyModel tiny;
  tiny.architecture = architecture;
  tiny.n_layers = 6;
  tiny.edit = std::move(edit);
  return tiny;
}

void expect_refused(const TinyModel& tiny, ErrorCode code, const std::string& message) {
  const auto config = read(tiny);
  ASSERT_FALSE(config.ok()) << "expected: " << message;
  EXPECT_EQ(error_code_name(config.error().code), error_code_name(code));
  EXPECT_NE(config.error().message.find(message), std::string::npos) << config.error().message;
}

std::vector<uint32_t> windows(const ModelConfig& config) {
  std::vector<uint32_t> sizes;
  for (const LayerConfig& layer : config.layers) sizes.push_back(layer.window);
  return sizes;
}

TEST(Config, ARowAloneMakesAModelOfPlainNumbers) {
  const auto config = read(tiny_model("llama"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().embedding_scale, 1.0f);
  EXPECT_EQ(config.value().residual_scale, 1.0f);
  EXPECT_EQ(config.value().logit_scale, 1.0f);
  EXPECT_EQ(config.value().attention_softcap, 0.0f);
  EXPECT_EQ(config.value().logit_softcap, 0.0f);
  EXPECT_EQ(config.value().n_experts, 0u);
  EXPECT_EQ(windows(config.value()), (std::vector<uint32_t>(6, 0)));
  for (const LayerConfig& layer : config.value().layers) {
    EXPECT_EQ(layer.attention_scale, 0.5f);  // 1 / sqrt(4)
    EXPECT_EQ(layer.rotation, Rotation::scaled);
  }
}

TEST(Config, EverySecondLayerOfGemma2SeesAll) {
  const auto config = read(tiny_model("gemma2"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(windows(config.value()), (std::vector<uint32_t>{4096, 0, 4096, 0, 4096, 0}));
  EXPECT_EQ(config.value().attention_softcap, 50.0f);
  EXPECT_EQ(config.value().logit_softcap, 30.0f);
}

TEST(Config, LocalLayersOfGemma3RotateByABaseOfTheirOwn) {
  const auto config = read(tiny_model("gemma3", [](GgufBuilder& file) {
    file.set_uint32("gemma3.attention.sliding_window", 16);
    file.set_float32("gemma3.rope.freq_base", 1e6f);
  }));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(windows(config.value()), (std::vector<uint32_t>{16, 16, 16, 16, 16, 0}));
  EXPECT_EQ(config.value().layers[0].rotation, Rotation::local);
  EXPECT_EQ(config.value().layers[5].rotation, Rotation::scaled);
  EXPECT_EQ(config.value().rope.theta, 1e6f);
  EXPECT_EQ(config.value().rope.local_theta, 10000.0f);
}

TEST(Config, EveryFourthLayerOfSmolLm3IsNotRotated) {
  const auto config = read(tiny_model("smollm3"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(config.value().layers[i].rotation, i == 3 ? Rotation::none : Rotation::scaled) << i;
  }
}

TEST(Config, AFileMayListTheLayersWithAWindow) {
  const auto config = read(tiny_model("llama", [](GgufBuilder& file) {
    file.set_uint32("llama.attention.sliding_window", 9);
    file.set_bools("llama.attention.sliding_window_pattern", {1, 0, 0, 1, 1, 0});
  }));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(windows(config.value()), (std::vector<uint32_t>{9, 0, 0, 9, 9, 0}));
  const auto of_numbers = read(tiny_model("llama", [](GgufBuilder& file) {
    file.set_uint32("llama.attention.sliding_window", 9);
    file.set_array<int32_t>("llama.attention.sliding_window_pattern", {1, 0, 0, 1, 1, 0});
  }));
  ASSERT_TRUE(of_numbers.ok()) << of_numbers.error().message;
  EXPECT_EQ(windows(of_numbers.value()), windows(config.value()));
  expect_refused(tiny_model("llama",
                            [](GgufBuilder& file) {
                              file.set_uint32("llama.attention.sliding_window", 9);
                              file.set_bools("llama.attention.sliding_window_pattern", {1, 0});
                            }),
                 ErrorCode::corrupt, "sliding_window_pattern is not an array of one number");
}

TEST(Config, RefusesAnUnknownScalingOfPositions) {
  expect_refused(
      tiny_model("llama", [](GgufBuilder& file) { file.set("llama.rope.scaling.type", "ntk"); }),
      ErrorCode::unsupported_feature, "llama.rope.scaling.type is \"ntk\"");
}

TEST(Config, RefusesExpertsWhereTheArchitectureHasNone) {
  expect_refused(
      tiny_model("qwen2", [](GgufBuilder& file) { file.set_uint32("qwen2.expert_count", 8); }),
      ErrorCode::unsupported_feature, "qwen2.expert_count asks for a mixture of experts");
}

TEST(Config, RefusesImpossibleExperts) {
  expect_refused(tiny_model("qwen3moe"), ErrorCode::missing_metadata, "qwen3moe.expert_count");
  expect_refused(tiny_model("llama",
                            [](GgufBuilder& file) {
                              file.set_uint32("llama.expert_count", 4);
                              file.set_uint32("llama.expert_used_count", 5);
                            }),
                 ErrorCode::corrupt, "llama.expert_used_count is 5, expected 1 to 4");
  expect_refused(tiny_model("llama",
                            [](GgufBuilder& file) {
                              file.set_uint32("llama.expert_count", 4);
                              file.set_uint32("llama.expert_used_count", 2);
                              file.set_uint32("llama.expert_gating_func", 2);
                            }),
                 ErrorCode::unsupported_feature, "llama.expert_gating_func is 2");
}

TEST(Config, RefusesWhatNoArchitectureHereComputes) {
  expect_refused(tiny_model("llama",
                            [](GgufBuilder& file) {
                              file.set_float32("llama.attention.max_alibi_bias", 8.0f);
                            }),
                 ErrorCode::unsupported_feature, "llama.attention.max_alibi_bias is not supported");
  expect_refused(
      tiny_model("llama",
                 [](GgufBuilder& file) { file.set_bool("llama.attention.causal", false); }),
      ErrorCode::unsupported_feature,
      "llama.attention.causal is false, which is not supported: the tokens of this architecture do "
      "not see later tokens");
}

TinyModel tiny_encoder(const std::string& architecture,
                       std::function<void(GgufBuilder&)> edit = {}) {
  return tiny_model(architecture, [=](GgufBuilder& file) {
    file.set_float32(cat(architecture, ".attention.layer_norm_epsilon"), 1e-5f);
    if (edit != nullptr) edit(file);
  });
}

TEST(Config, EveryThirdLayerOfModernBertSeesAllTheFirstAmongThem) {
  const auto config = read(tiny_encoder("modern-bert", [](GgufBuilder& file) {
    file.set_uint32("modern-bert.attention.sliding_window", 128);
  }));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(windows(config.value()), (std::vector<uint32_t>{0, 128, 128, 0, 128, 128}));
  EXPECT_EQ(config.value().layers[0].rotation, Rotation::scaled);
  EXPECT_EQ(config.value().layers[1].rotation, Rotation::local);
  EXPECT_EQ(config.value().rope.local_theta, 10000.0f);
  EXPECT_EQ(config.value().activation, Activation::gelu);
  EXPECT_FALSE(config.value().pooling);
}

TEST(Config, ModernBertMayNameItsActivation) {
  const auto with = [](const char* name) {
    return tiny_encoder("modern-bert", [name](GgufBuilder& file) {
      file.set("modern-bert.hidden_activation", name);
    });
  };
  const auto config = read(with("silu"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().activation, Activation::silu);
  expect_refused(with("relu"), ErrorCode::unsupported_feature,
                 "modern-bert.hidden_activation is \"relu\": not supported");
}

TEST(Config, ReadsHowAnEncoderPools) {
  const auto config = read(tiny_encoder("bert", [](GgufBuilder& file) {
    file.set_uint32("bert.pooling_type", 4);
    file.set_bool("bert.attention.causal", false);
    file.set_array("bert.classifier.output_labels", std::vector<std::string>{"a", "b", "c"});
  }));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().pooling, Pooling::rank);
  EXPECT_EQ(config.value().n_labels, 3u);
}

TEST(Config, AModelThatPoolsMakesNoText) {
  for (const uint32_t pooling : {0u, 3u}) {
    const auto config = read(tiny_model(
        "qwen3", [pooling](GgufBuilder& file) { file.set_uint32("qwen3.pooling_type", pooling); }));
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config.value().pooling, static_cast<Pooling>(pooling));
    EXPECT_EQ(config.value().makes_text(), pooling == 0);
  }
}

TEST(Config, RefusesEncodersThatDoNotLookAhead) {
  expect_refused(
      tiny_encoder("bert", [](GgufBuilder& file) { file.set_bool("bert.attention.causal", true); }),
      ErrorCode::unsupported_feature, "bert.attention.causal");
  expect_refused(
      tiny_encoder("bert",
                   [](GgufBuilder& file) { file.set_uint32("bert.classifier.output_labels", 2); }),
      ErrorCode::corrupt, "bert.classifier.output_labels is not an array");
  expect_refused(tiny_encoder("jina-bert-v2",
                              [](GgufBuilder& file) {
                                file.set_float32("jina-bert-v2.attention.max_alibi_bias", 4.0f);
                              }),
                 ErrorCode::unsupported_feature, "max_alibi_bias is not supported");
}

// Each token sees this many positions in every layer, including its own, which is the last of them:
// as in the code of Mistral v0.1, Phi-3 and StarCoder 2.
TEST(Config, AWindowOfTheFileHoldsInEveryLayer) {
  for (const char* name : {"llama", "phi3", "starcoder2"}) {
    const auto config = read(tiny_model(name, [&](GgufBuilder& file) {
      if (name == std::string_view("starcoder2")) {
        file.set_float32("starcoder2.attention.layer_norm_epsilon", 1e-5f);
      }
      file.set_uint32(cat(name, ".attention.sliding_window"), 2047);
    }));
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(windows(config.value()), (std::vector<uint32_t>(6, 2047))) << name;
  }
}

// Neither the models' own code nor llama.cpp reads these keys.
TEST(Config, FactorsThatTheArchitectureDoesNotHaveChangeNothing) {
  const std::pair<const char*, const char*> unknown[] = {
      {"llama", "attention.scale"},         {"llama", "logit_scale"},
      {"llama", "embedding_scale"},         {"llama", "residual_scale"},
      {"minicpm", "attention.scale"},       {"qwen2", "attention.scale"},
      {"gemma", "embedding_scale"},         {"qwen3", "logit_scale"},
      {"gemma3", "attn_logit_softcapping"}, {"qwen2", "attn_logit_softcapping"},
      {"qwen3", "final_logit_softcapping"}};
  for (const auto& one : unknown) {
    const std::string name = one.first;
    const std::string key = cat(name, ".", one.second);
    const auto plain = read(tiny_model(name));
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    const auto config =
        read(tiny_model(name, [&](GgufBuilder& file) { file.set_float32(key, 0.7f); }));
    ASSERT_TRUE(config.ok()) << config.error().message;
    const auto factors = [](const ModelConfig& c) {
      return std::vector<float>{c.embedding_scale, c.residual_scale,    c.layers[0].attention_scale,
                                c.logit_scale,     c.attention_softcap, c.logit_softcap};
    };
    EXPECT_EQ(factors(config.value()), factors(plain.value())) << key;
  }
}

TEST(Config, MiniCpmHasScalesWhereTheFileHasNone) {
  const auto config = read(tiny_model("minicpm"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().embedding_scale, 12.0f);
  EXPECT_FLOAT_EQ(config.value().residual_scale, 1.4f / std::sqrt(6.0f));
  EXPECT_FLOAT_EQ(config.value().logit_scale, 256.0f / 8);  // relative to a model 8 wide
  EXPECT_EQ(config.value().layers[0].attention_scale, 0.5f);
}

TEST(Config, Cohere2MultipliesLogitsAndMustSayByWhat) {
  const auto with = [](float scale) {
    return tiny_model("cohere2", [scale](GgufBuilder& file) {
      file.set_float32("cohere2.attention.layer_norm_epsilon", 1e-5f);
      if (scale != 1) file.set_float32("cohere2.logit_scale", scale);
    });
  };
  const auto config = read(with(0.25f));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().logit_scale, 0.25f);
  expect_refused(with(1), ErrorCode::missing_metadata, "cohere2.logit_scale");
  expect_refused(with(-2), ErrorCode::corrupt, "cohere2.logit_scale is not positive");
}

std::vector<Rotation> rotations(const ModelConfig& config) {
  std::vector<Rotation> all;
  for (const LayerConfig& layer : config.layers) all.push_back(layer.rotation);
  return all;
}

TEST(Config, LayersOfExaone4ThatSeeAllAreNotRotatedWhereOthersHaveWindows) {
  constexpr Rotation kTurned = Rotation::scaled;
  constexpr Rotation kNot = Rotation::none;
  const auto plain = read(tiny_model("exaone4"));
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(rotations(plain.value()), std::vector<Rotation>(6, kTurned));
  EXPECT_EQ(windows(plain.value()), std::vector<uint32_t>(6, 0));
  for (const bool listed : {false, true}) {
    const auto config = read(tiny_model("exaone4", [listed](GgufBuilder& file) {
      file.set_uint32("exaone4.attention.sliding_window", 9);
      if (listed) file.set_bools("exaone4.attention.sliding_window_pattern", {0, 1, 1, 0, 0, 1});
    }));
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(windows(config.value()), listed ? (std::vector<uint32_t>{0, 9, 9, 0, 0, 9})
                                              : (std::vector<uint32_t>{9, 9, 9, 0, 9, 9}));
    EXPECT_EQ(rotations(config.value()),
              listed ? (std::vector<Rotation>{kNot, kTurned, kTurned, kNot, kNot, kTurned})
                     : (std::vector<Rotation>{kTurned, kTurned, kTurned, kNot, kTurned, kTurned}));
  }
}

TEST(Config, Exaone4Of64LayersHasWindowsWhereTheFileDoesNotSay) {
  TinyModel tiny = tiny_model("exaone4");
  tiny.n_layers = 64;
  const auto config = read(tiny);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().layers[2].window, 4096u);
  EXPECT_EQ(config.value().layers[3].window, 0u);
  EXPECT_EQ(config.value().layers[3].rotation, Rotation::none);
}

TEST(Config, SectionsOfGlm4MakeItsPairsHalves) {
  const auto with = [](const std::vector<int32_t>& sections) {
    return tiny_model("glm4", [sections](GgufBuilder& file) {
      file.set_array("glm4.rope.dimension_sections", sections);
    });
  };
  EXPECT_EQ(read(tiny_model("glm4")).value().rope_kind, RopeKind::interleaved);
  EXPECT_EQ(read(with({2, 1, 1, 0})).value().rope_kind, RopeKind::halves);
  EXPECT_EQ(read(with({0, 0, 0, 0})).value().rope_kind, RopeKind::interleaved);
  expect_refused(with({1, 1, 1, 1}), ErrorCode::unsupported_feature,
                 "glm4.rope.dimension_sections has a fourth section of 1, which is not supported");
  expect_refused(with({2, 1, 1}), ErrorCode::corrupt,
                 "glm4.rope.dimension_sections is not an array of 4 sizes");
  expect_refused(with({2, 1, -1, 0}), ErrorCode::corrupt, "is not an array of 4 sizes");
}

TEST(Config, SectionsTellByWhatPairsTurn) {
  const auto axes_of = [](const char* architecture, const std::vector<int32_t>& sections) {
    const auto config = read(tiny_model(architecture, [&](GgufBuilder& file) {
      file.set_array(std::string(architecture) + ".rope.dimension_sections", sections);
    }));
    EXPECT_TRUE(config.ok());
    std::vector<int> axes;
    for (uint32_t pair = 0; pair < 8; ++pair) axes.push_back(config.value().rope.axis_of(pair));
    return axes;
  };
  EXPECT_EQ(axes_of("glm4", {4, 2, 2, 0}), (std::vector<int>{0, 0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(axes_of("glm4", {2, 1, 1, 0}), (std::vector<int>{0, 0, 1, 2, 0, 0, 1, 2}));
  EXPECT_EQ(axes_of("qwen2vl", {4, 2, 2, 0}), (std::vector<int>{0, 0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(axes_of("qwen3vl", {4, 2, 2, 0}), (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 0}));
  EXPECT_EQ(axes_of("qwen3vl", {0, 0, 0, 0}), std::vector<int>(8, 0));
  EXPECT_EQ(axes_of("llama", {4, 2, 2, 0}), std::vector<int>(8, 0));
}

TEST(Config, RowsOfPicturesMayBeWiderThanTheStream) {
  const auto with = [](uint32_t n) {
    return tiny_model("qwen3vl",
                      [n](GgufBuilder& file) { file.set_uint32("qwen3vl.n_deepstack_layers", n); });
  };
  EXPECT_EQ(read(tiny_model("qwen3vl")).value().image_width(), TinyModel{}.hidden_dim);
  EXPECT_EQ(read(with(2)).value().image_width(), 3 * TinyModel{}.hidden_dim);
  expect_refused(with(99), ErrorCode::corrupt, "qwen3vl.n_deepstack_layers is 99 of ");
}

TEST(Config, AlphaOfHunyuanScalesTheBase) {
  const auto with = [](uint32_t head_dim) {
    return tiny_model("hunyuan-dense", [head_dim](GgufBuilder& file) {
      file.set_float32("hunyuan-dense.rope.scaling.alpha", 50.0f);
      file.set_uint32("hunyuan-dense.attention.key_length", head_dim);
    });
  };
  const auto config = read(with(4));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_FLOAT_EQ(config.value().rope.theta, 10000.0f * 50 * 50);  // alpha^(4 / 2)
  expect_refused(with(2), ErrorCode::corrupt,
                 "hunyuan-dense.rope.scaling.alpha cannot scale the base of heads of 2");
}

TEST(Config, OneExpertIsNoneWhereTheArchitectureHasNone) {
  const auto config = read(tiny_model("hunyuan-dense", [](GgufBuilder& file) {
    file.set_uint32("hunyuan-dense.expert_count", 1);
  }));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().n_experts, 0u);
}

TEST(Config, OnlyMistral3HasALogMultiplier) {
  const auto with = [](const std::string& name, float multiplier) {
    return tiny_model(name, [=](GgufBuilder& file) {
      file.set(cat(name, ".rope.scaling.type"), "yarn");
      file.set_float32(cat(name, ".rope.scaling.yarn_log_multiplier"), multiplier);
    });
  };
  const auto config = read(with("mistral3", 0.5f));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().rope.yarn_log_multiplier, 0.5f);
  expect_refused(with("mistral3", -0.5f), ErrorCode::corrupt, "yarn_log_multiplier is negative");
  expect_refused(with("llama", 0.5f), ErrorCode::unsupported_feature,
                 "llama.rope.scaling.yarn_log_multiplier is not supported");
}

TEST(Config, RefusesScalesThatAreNotPositive) {
  expect_refused(
      tiny_model("granite",
                 [](GgufBuilder& file) { file.set_float32("granite.logit_scale", 0.0f); }),
      ErrorCode::corrupt, "granite.logit_scale is not positive");
}

}  // namespace
}  // namespace kinglet
