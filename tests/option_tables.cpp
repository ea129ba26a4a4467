// Prints as JSON what the package must know about options before it has an engine, for
// scripts/generate-option-tables.mjs.
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

#include "json/json.h"
#include "model/pooling.h"
#include "schema/schema.h"
#include "session/generation.h"
#include "session/sampling_options.h"
#include "session/thread_choice.h"
#include "tensor/kv_kind.h"
#include "vision/pixels.h"

namespace kinglet {
namespace {

Json kv_kinds() {
  Json names = Json::array();
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    names.push_back(kv_kind_info(static_cast<KvKind>(kind)).name);
  }
  return names;
}

Json poolings() {
  Json names = Json::array();
  for (const Pooling pooling : {Pooling::mean, Pooling::cls, Pooling::last}) {
    names.push_back(pooling_name(pooling));
  }
  return names;
}

// With as many digits as a float has: 0.8, not 0.800000012.
Json real(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%g", value);
  return Json::number(digits);
}

Json sampling_rules() {
  const SamplerOptions usual;
  Json rules;
  for (const SamplingOption& option : sampling_options()) {
    const auto number = [&](double value) {
      return option.is_whole() ? Json(static_cast<int64_t>(value)) : real(value);
    };
    rules[option.name] = {{"default", number(option.get(usual))},
                          {"min", number(option.least)},
                          {"max", number(option.most)},
                          {"above", option.above},
                          {"integer", option.is_whole()}};
  }
  return rules;
}

Json whole(int64_t least, int64_t most) {
  return {{"min", least}, {"max", most}, {"integer", true}};
}

Json whole(int64_t usual, int64_t least, int64_t most) {
  return {{"default", usual}, {"min", least}, {"max", most}, {"integer", true}};
}

Json number_rules() {
  constexpr uint32_t kMostTokens = std::numeric_limits<uint32_t>::max();
  const GenerationOptions usual;
  return {{"maxTokens", whole(usual.max_tokens, 1, kMostTokens)},
          {"maxThinkingTokens", whole(0, kMostTokens)},
          {"logprobs", whole(0, kMaxLogprobs)},
          {"lookup", whole(usual.n_lookup, 0, kMostGuesses)},
          {"logitBias", {{"min", -kMostBias}, {"max", kMostBias}}},
          {"indent", whole(0, kMostIndent)},
          {"nCtx", whole(1, kMostTokens)},
          // The engine does not share a cache of only one page.
          {"kvPool", whole(2 * kDefaultPagePositions, kMostTokens)},
          {"nThreads", whole(1, kPageThreads.most)}};
}

}  // namespace
}  // namespace kinglet

int main() {
  using namespace kinglet;
  Json tables = {{"kvKinds", kv_kinds()},
                 {"poolings", poolings()},
                 {"samplingOptions", sampling_rules()},
                 {"sequenceBreakers", Json::array()},
                 {"numberRules", number_rules()},
                 {"maxUsualThreads", kPageThreads.most_usual},
                 {"maxPictureSide", kMaxPictureSide},
                 {"maxPicturePixels", kMaxPicturePixels}};
  for (const std::string& breaker : SamplerOptions().dry_sequence_breakers) {
    tables["sequenceBreakers"].push_back(breaker);
  }
  std::puts(print(tables).c_str());
}
