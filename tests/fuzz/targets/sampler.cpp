// Valid options and finite logits of any size always give a token of the vocabulary.
#include "session/sampler.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "fuzz/input.h"
#include "kernels/kernels.h"

namespace kinglet::fuzz {

void sampler(Bytes bytes) {
  Input input(bytes);
  SamplerOptions options;
  options.temperature = input.flag() ? input.number<float>() : std::fabs(input.weight());
  options.top_k = input.flag() ? input.number<int32_t>() : static_cast<int32_t>(input.up_to(50));
  options.top_p = static_cast<float>(input.up_to(100)) / 100.0f;
  options.min_p = static_cast<float>(input.up_to(100)) / 100.0f;
  options.repeat_penalty = input.flag() ? input.number<float>() : 1.0f;
  options.repeat_last_n = static_cast<int32_t>(input.up_to(20));
  options.seed = input.number<uint64_t>();
  const uint32_t vocab_size = 1 + input.up_to(40);
  options.frequency_penalty = input.weight();
  options.presence_penalty = input.weight();
  options.typical_p = static_cast<float>(input.up_to(100)) / 100.0f;
  options.xtc_probability = static_cast<float>(input.up_to(4)) / 4.0f;
  options.xtc_threshold = static_cast<float>(input.up_to(100)) / 100.0f;
  options.dry_multiplier = std::fabs(input.weight());
  options.dry_base = input.flag() ? input.number<float>() : 1.75f;
  options.dry_allowed_length = static_cast<int32_t>(input.up_to(3));
  options.dry_penalty_last_n = static_cast<int32_t>(input.up_to(9)) - 1;
  if (input.flag()) options.logit_bias = {{input.number<int8_t>(), input.number<float>()}};
  const auto sets = available_kernels();
  const KernelSet& kernels = *sets[input.up_to(static_cast<uint32_t>(sets.size()) - 1)];
  if (!validate(options, vocab_size).ok()) return;

  const auto piece = [](TokenId token) {
    return std::string_view("a:bc\nd*ef").substr(static_cast<size_t>(token) % 9);
  };
  Sampler sampler(options, vocab_size, kernels, Dry::create(options, 6, vocab_size, piece));
  const bool ordinary = input.flag();
  for (int step = 0; step < 8; ++step) {
    std::vector<float> logits(vocab_size);
    for (float& logit : logits) {
      logit = ordinary ? input.weight() : input.number<float>();
      if (!std::isfinite(logit)) logit = 0;
    }
    const TokenId token = sampler.sample(logits);
    check(token >= 0 && static_cast<uint32_t>(token) < vocab_size, "no token of the vocabulary");
    sampler.accept(token);
  }
}

}  // namespace kinglet::fuzz
