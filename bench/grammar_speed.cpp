// Measures what a grammar costs per token: samples along a JSON text over the vocabulary of a model
// file, with and without the grammar of JSON. "sure": the logits of a model that knows the text;
// "unsure": noise, so that the grammar refuses most tokens. Prints microseconds per token, one JSON
// object for each sampler. Compare them with the time in which a model decodes a token.
// Usage: kinglet_grammar_speed MODEL
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "gguf/file.h"
#include "grammar/grammar.h"
#include "session/constraint.h"
#include "session/sampler.h"
#include "text/tokenizer.h"

namespace kinglet {
namespace {

constexpr std::string_view kGrammar = R"(
root   ::= object
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair ("," ws pair)*)? ws "}"
pair   ::= string ":" ws value
array  ::= "[" ws (value ("," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?
ws     ::= (" " | "\n" [ \t]{0,20})?
)";

std::string sample_text() {
  std::string text = "{\n  \"title\": \"A walk in the old town\", \"people\": [";
  for (int i = 0; i < 12; ++i) {
    text += cat(i == 0 ? "" : ",", "\n    {\"name\": \"Søren Nº ", i, "\", \"age\": ", 20 + 3 * i,
                ", \"likes\": [\"long \\\"stories\\\" about bees\", null, true, -", i, ".25e3]}");
  }
  return text + "\n  ]\n}";
}

struct Costs {
  double free = 0;  // microseconds per token
  double constrained = 0;
};

Costs measure(const Tokenizer& tokenizer, const std::shared_ptr<const Grammar>& grammar,
              const SamplerOptions& options, float certainty) {
  using Clock = std::chrono::steady_clock;
  const auto n_tokens = static_cast<size_t>(tokenizer.n_tokens());
  const std::vector<TokenId> text = tokenizer.encode(sample_text(), {.add_bos = false});
  Sampler sampler(options, static_cast<uint32_t>(n_tokens), *available_kernels().front());
  Constraint constraint(grammar, tokenizer, true);
  std::mt19937 random(1);
  std::vector<float> noise(2 * n_tokens);
  for (float& logit : noise) logit = static_cast<float>(random() % 65536) / 6553.6f;
  Clock::duration free{};
  Clock::duration constrained{};
  for (const TokenId token : text) {
    const auto begin = noise.begin() + static_cast<ptrdiff_t>(random() % n_tokens);
    std::vector<float> logits(begin, begin + static_cast<ptrdiff_t>(n_tokens));
    logits[static_cast<size_t>(token)] += certainty;
    std::vector<float> copy = logits;
    const auto start = Clock::now();
    (void)sampler.sample(copy);
    const auto middle = Clock::now();
    (void)sampler.sample(logits, &constraint);
    constraint.accept(token);
    const auto end = Clock::now();
    free += middle - start;
    constrained += end - middle;
  }
  const auto per_token = [&](Clock::duration total) {
    return std::chrono::duration<double, std::micro>(total).count() /
           static_cast<double>(text.size());
  };
  return {per_token(free), per_token(constrained)};
}

Status run(const std::string& path) {
  KINGLET_ASSIGN(const GgufFile file, read_gguf_file(path));
  KINGLET_ASSIGN(const auto tokenizer, Tokenizer::from_gguf(file.header()));
  KINGLET_ASSIGN(Grammar parsed, Grammar::parse(kGrammar));
  const auto grammar = std::make_shared<const Grammar>(std::move(parsed));
  const struct {
    const char* name;
    SamplerOptions options;
  } samplers[] = {{"greedy", {.temperature = 0.0f}},
                  {"top-k 40", {}},
                  {"all", {.top_k = 0, .top_p = 1.0f, .min_p = 0.0f}}};
  for (const auto& [name, options] : samplers) {
    const Costs sure = measure(*tokenizer, grammar, options, 20.0f);
    const Costs unsure = measure(*tokenizer, grammar, options, 0.0f);
    std::printf("{\"tokens\":%d,\"sampler\":\"%s\",\"free\":%.1f,\"sure\":%.1f,\"unsure\":%.1f}\n",
                tokenizer->n_tokens(), name, sure.free, sure.constrained, unsure.constrained);
  }
  return {};
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "Usage: kinglet_grammar_speed MODEL\n");
    return 2;
  }
  const kinglet::Status status = kinglet::run(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return 1;
}
