// A model that others trained, compared with another engine's probabilities for a page of prose.
// Its file is not part of the project: without it, these tests are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

const std::string kFolder = KINGLET_SOURCE_DIR "/../shared/models/real/";

// What a model with the same weights as floats says after a token.
struct Expected {
  uint32_t position;
  std::vector<std::pair<size_t, double>> most_probable;  // tokens with log probabilities
};

struct Prose {
  Tokens tokens;
  std::vector<Expected> positions;
};

std::string read_text(const std::string& path) {
  std::string text;
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    char part[1 << 16];
    for (size_t n = 0; (n = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
    std::fclose(file);
  }
  return text;
}

Prose read_prose() {
  Prose prose;
  const auto json = parse_json(read_text(kFolder + "SmolLM2-135M-Instruct.float.json"));
  EXPECT_TRUE(json.ok());
  for (const Json& id : json.value().find("tokens")->as_array()) {
    prose.tokens.push_back(static_cast<TokenId>(id.as_double()));
  }
  for (const Json& position : json.value().find("positions")->as_array()) {
    Expected& expected = prose.positions.emplace_back();
    expected.position = static_cast<uint32_t>(position.find("position")->as_double());
    for (const Json& one : position.find("top")->as_array()) {
      expected.most_probable.emplace_back(static_cast<size_t>(one[0].as_double()),
                                          one[1].as_double());
    }
  }
  return prose;
}

std::vector<double> log_softmax_of(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - largest);
  std::vector<double> logprobs;
  for (const float x : logits) logprobs.push_back(x - largest - std::log(sum));
  return logprobs;
}

// The KL divergence in nats, over the expected tokens and "any other".
double divergence(const Expected& expected, const std::vector<double>& found) {
  double rest_expected = 1;
  double rest_found = 1;
  double sum = 0;
  for (const auto& [token, logprob] : expected.most_probable) {
    sum += std::exp(logprob) * (logprob - found[token]);
    rest_expected -= std::exp(logprob);
    rest_found -= std::exp(found[token]);
  }
  if (rest_expected <= 1e-6) return sum;
  return sum + rest_expected * std::log(rest_expected / std::max(rest_found, 1e-9));
}

// What 8-bit activations cost, which all kernels but the scalar ones have.
constexpr double kActivations = 0.0022;

class RealFile : public testing::Test {
 protected:
  void SetUp() override {
#ifdef KINGLET_SANITIZED
    GTEST_SKIP() << "too slow with a sanitizer";
#endif
    if (std::FILE* file = std::fopen(model_path().c_str(), "rb")) {
      std::fclose(file);
    } else {
      GTEST_SKIP() << "there is no " << model_path();
    }
  }

  static std::string model_path() { return kFolder + "SmolLM2-135M-Instruct.Q4_1.gguf"; }

  // The mean over the first n tokens of the prose.
  static double mean_divergence(const std::string& kernels, KvKind k_kind, KvKind v_kind,
                                size_t n_tokens) {
    auto file = read_gguf_file(model_path());
    EXPECT_TRUE(file.ok());
    const auto loaded = load_language_model(std::move(file.value()), kernels);
    EXPECT_TRUE(loaded.ok());
    ThreadPool pool(2);
    const auto session =
        make_session(loaded.value(), pool, {.n_ctx = 1024, .k_kind = k_kind, .v_kind = v_kind});
    const Prose prose = read_prose();
    double sum = 0;
    size_t n = 0;
    for (const Expected& expected : prose.positions) {
      if (expected.position >= n_tokens) break;
      const size_t done = session->n_positions();
      const auto next = std::span(prose.tokens).subspan(done, expected.position + 1 - done);
      sum += divergence(expected, log_softmax_of(logits_after(*session, next)));
      ++n;
    }
    return sum / static_cast<double>(n);
  }
};

TEST_F(RealFile, HasTheProbabilitiesOfItsFloats) {
  for (const KernelSet* kernels : available_kernels()) {
    const bool rounds = kernels != &scalar_kernels();
    // Scalar kernels are slow.
    const double mean =
        mean_divergence(std::string(kernels->name), KvKind::f32, KvKind::f32, rounds ? 813 : 160);
    EXPECT_LE(mean, rounds ? 0.0035 : 0.0001) << kernels->name;
  }
}

// At most 1.15 times what a simulation of the same rounding in floats gave.
TEST_F(RealFile, LosesLittleInEveryKindOfCache) {
#ifdef __EMSCRIPTEN__
  GTEST_SKIP() << "the kinds of caches depend on kernels little; natively they are measured";
#endif
  const struct {
    KvKind k_kind;
    KvKind v_kind;
    double simulated;
  } kinds[] = {{KvKind::f16, KvKind::f16, 0.0002},
               {KvKind::int8, KvKind::int8, 0.00014},
               {KvKind::q8, KvKind::q8, 0.00008},
               {KvKind::q8, KvKind::q4, 0.0034},
               {KvKind::q4, KvKind::q4, 0.015},
               {KvKind::fp8_e4m3, KvKind::fp8_e4m3, 0.0034},
               {KvKind::fp8_e5m2, KvKind::fp8_e5m2, 0.0153}};
  for (const auto& [k_kind, v_kind, simulated] : kinds) {
    // Two roundings that are not independent.
    const double most = 1.15 * simulated + 1.25 * kActivations;
    EXPECT_LE(mean_divergence("", k_kind, v_kind, 813), most)
        << kv_kind_info(k_kind).name << ", " << kv_kind_info(v_kind).name;
  }
}

}  // namespace
}  // namespace kinglet
