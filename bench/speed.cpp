// Measures the speed of a model file natively, as in the desktop program: reading prompts of 128
// and 512 tokens, and generating 64 tokens after the shorter one. Prints tokens per second of every
// repeat, one JSON object for each kernel set and number of threads.
// Usage: kinglet_speed MODEL [KERNELS [THREADS [REPEATS]]]; KERNELS "" means all except scalar,
// "fastest" means the default set.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/file.h"
#include "program.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet {
namespace {

constexpr uint32_t kShortPrompt = 128;
constexpr uint32_t kLongPrompt = 512;
constexpr uint32_t kDecoded = 64;
constexpr uint32_t kContext = 1024;

struct Run {
  double prefill;  // tokens per second
  double decode;
};

// The same ids as those of promptOf() in measure.js.
std::vector<TokenId> prompt_of(uint32_t n_tokens) {
  const auto token_of_byte = [](uint32_t byte) { return static_cast<TokenId>(3 + byte); };
  std::vector<TokenId> prompt = {1, token_of_byte(0xe2), token_of_byte(0x96), token_of_byte(0x81)};
  for (uint32_t i = 0; prompt.size() < n_tokens; ++i) {
    prompt.push_back(token_of_byte(33 + 7 * i % 94));
  }
  return prompt;
}

// The time of the prompt ends when its logits are computed and the first token is sampled.
Result<Run> run_once(const LanguageModel& loaded, Session& session, uint32_t n_prompt,
                     uint32_t n_decoded) {
  KINGLET_TRY(session.truncate(0));
  GenerationOptions options;
  options.max_tokens = n_decoded + 1;
  options.sampler.temperature = 0.0f;
  options.n_lookup = 0;  // random weights repeat themselves
  KINGLET_ASSIGN(Generation generation,
                 Generation::start(session, *loaded.tokenizer, prompt_of(n_prompt), options));
  const auto next_token = [&]() -> Result<TokenId> {
    for (;;) {
      KINGLET_ASSIGN(const GenerationStep step, generation.step());
      if (step.token != kNoToken) return step.token;
      if (step.finish != FinishReason::none) {
        return Error{ErrorCode::invalid_argument, "the model ended before the measurement did"};
      }
    }
  };
  const double start = seconds_now();
  KINGLET_TRY(next_token());
  const double first_token = seconds_now();
  for (uint32_t i = 0; i < n_decoded; ++i) KINGLET_TRY(next_token());
  const double end = seconds_now();
  return Run{n_prompt / (first_token - start), n_decoded / (end - first_token)};
}

Status measure(const LanguageModel& loaded, size_t n_threads, int n_repeats) {
  ThreadPool pool(n_threads);
  KINGLET_ASSIGN(const auto session, Session::create(loaded.model, pool, {.n_ctx = kContext}));
  std::vector<double> prefill_short;
  std::vector<double> prefill_long;
  std::vector<double> decode;
  for (int i = 0; i < n_repeats; ++i) {
    KINGLET_ASSIGN(const Run shorter, run_once(loaded, *session, kShortPrompt, kDecoded));
    KINGLET_ASSIGN(const Run longer, run_once(loaded, *session, kLongPrompt, 0));
    prefill_short.push_back(shorter.prefill);
    decode.push_back(shorter.decode);
    prefill_long.push_back(longer.prefill);
  }
  std::printf("{\"kernels\":\"%s\",\"threads\":%zu",
              std::string(loaded.model.kernels().name).c_str(), pool.n_threads());
  print_numbers("prefill128", prefill_short);
  print_numbers("prefill512", prefill_long);
  print_numbers("decode64", decode);
  print_peak_and_end();
  return {};
}

Status run(const std::string& path, std::string_view kernels, size_t n_threads, int n_repeats) {
  return for_each_kernel_set(kernels, [&](const KernelSet& set) -> Status {
    KINGLET_ASSIGN(GgufFile file, read_gguf_file(path));
    KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file), set));
    return for_each_thread_count(
        n_threads, [&](size_t threads) { return measure(loaded, threads, n_repeats); });
  });
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  return kinglet::run_program("kinglet_speed", argc, argv, kinglet::run);
}
