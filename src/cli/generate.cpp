#include <chrono>
#include <cstdio>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run.h"
#include "session/generation.h"

namespace kinglet::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// "prompt: 12 tokens, 340.1 tokens/s".
void print_speed(const char* phase, size_t n_tokens, double seconds) {
  std::fprintf(stderr, "%s: %zu tokens, %.1f tokens/s\n", phase, n_tokens,
               seconds > 0 ? static_cast<double>(n_tokens) / seconds : 0.0);
}

}  // namespace

Status generate(const GenerateOptions& options) {
  KINGLET_TRY(check_utf8("prompt", options.prompt));
  KINGLET_ASSIGN(const auto run, start_run(options.run));
  const std::vector<TokenId> prompt = run->loaded.tokenizer->encode(
      options.prompt, {.add_bos = options.add_bos, .parse_special = options.parse_special});
  KINGLET_ASSIGN(Generation generation, Generation::start(*run->session, *run->loaded.tokenizer,
                                                          prompt, options.generation));
  const auto start = Clock::now();
  auto first_token = start;
  size_t n_generated = 0;
  FinishReason reason = FinishReason::none;
  while (reason == FinishReason::none) {
    KINGLET_ASSIGN(const GenerationStep step, generation.step());
    if (step.token != kNoToken && n_generated++ == 0) first_token = Clock::now();
    std::fwrite(step.text.data(), 1, step.text.size(), stdout);
    std::fflush(stdout);
    reason = step.finish;
  }
  std::fputc('\n', stdout);
  if (options.show_speed) {
    print_speed("prompt", prompt.size(), seconds_between(start, first_token));
    // The first token comes with the prompt.
    print_speed("answer", n_generated > 0 ? n_generated - 1 : 0,
                seconds_between(first_token, Clock::now()));
    std::fprintf(stderr, "kernels: %.*s, %zu threads\n",
                 static_cast<int>(run->loaded.model.kernels().name.size()),
                 run->loaded.model.kernels().name.data(), run->pool.n_threads());
  }
  return {};
}

}  // namespace kinglet::cli
