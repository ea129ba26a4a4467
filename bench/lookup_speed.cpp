// Measures what guessing tokens ahead gains and costs (see src/session/prompt_lookup.h). A grammar
// forces every token of the generated text, so any weights will do. The text "copy" is the prompt
// with some letters changed; "new" has nothing in common with the prompt; in "chance", the last
// tokens have mostly occurred before, but what followed them predicts nothing. Runs with and
// without guesses take turns. Prints tokens per second of every repeat, and the median of the
// ratios of two successive runs. Usage: kinglet_lookup_speed MODEL [KERNELS [THREADS [REPEATS]]];
// MODEL comes from kinglet_make_model.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "gguf/file.h"
#include "program.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet {
namespace {

constexpr size_t kDocument = 400;  // tokens
constexpr size_t kAnswer = 256;
constexpr size_t kEdit = 32;  // average distance of two changes, about; tokens

struct Task {
  const char* name;
  std::string prompt;
  std::string answer;
};

// Each letter is a token, because the vocabulary has no other tokens of capitals.
std::string letters(size_t n, uint32_t n_letters, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < n) text += static_cast<char>('A' + random() % n_letters);
  return text;
}

std::string edited(std::string text) {
  std::mt19937 random(3);
  for (size_t at = kEdit / 2; at < text.size(); at += kEdit / 2 + random() % kEdit) text[at] = '#';
  return text;
}

struct Run {
  double tokens_per_second;
  uint32_t n_guessed;
  uint32_t n_accepted;
};

// For one thread, its processor time, which other programs affect less.
double seconds_now(size_t n_threads) {
  if (n_threads == 1) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Result<Run> run_once(const LanguageModel& loaded, Session& session, const Task& task,
                     uint32_t n_lookup, size_t n_threads) {
  KINGLET_TRY(session.truncate(0));
  KINGLET_ASSIGN(Grammar grammar, Grammar::parse(cat("root ::= \"", task.answer, "\"")));
  std::vector<TokenId> prompt = {1};
  for (const char c : task.prompt) prompt.push_back(3 + static_cast<TokenId>(c));
  GenerationOptions options;
  options.max_tokens = kAnswer;
  options.sampler.temperature = 0.0f;
  options.grammar = std::make_shared<const Grammar>(std::move(grammar));
  options.n_lookup = n_lookup;
  KINGLET_ASSIGN(Generation generation,
                 Generation::start(session, *loaded.tokenizer, prompt, options));
  double start = 0;
  for (size_t n_drawn = 0;;) {
    KINGLET_ASSIGN(const GenerationStep step, generation.step());
    if (step.token != kNoToken && ++n_drawn == 1) start = seconds_now(n_threads);
    if (step.finish == FinishReason::none) continue;
    if (n_drawn != kAnswer) return Error{ErrorCode::io, "a token has more than one letter"};
    const double seconds = seconds_now(n_threads) - start;
    return Run{static_cast<double>(n_drawn - 1) / seconds, step.n_guessed, step.n_accepted};
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status measure(const LanguageModel& loaded, size_t n_threads, const Task& task, int n_repeats) {
  ThreadPool pool(n_threads);
  KINGLET_ASSIGN(const auto session, Session::create(loaded.model, pool, {.n_ctx = 1024}));
  std::vector<double> without;
  std::vector<double> with;
  std::vector<double> ratios;
  Run found{};
  for (int i = 0; i < n_repeats; ++i) {
    KINGLET_ASSIGN(const Run plain, run_once(loaded, *session, task, 0, n_threads));
    KINGLET_ASSIGN(found, run_once(loaded, *session, task, kMostGuesses, n_threads));
    without.push_back(plain.tokens_per_second);
    with.push_back(found.tokens_per_second);
    ratios.push_back(found.tokens_per_second / plain.tokens_per_second);
  }
  std::printf("{\"text\":\"%s\",\"kernels\":\"%s\",\"threads\":%zu,\"guessed\":%u,\"kept\":%u",
              task.name, std::string(loaded.model.kernels().name).c_str(), pool.n_threads(),
              found.n_guessed, found.n_accepted);
  print_numbers("without", without);
  print_numbers("with", with);
  std::printf(",\"ratio\":%.3f}\n", median(ratios));
  std::fflush(stdout);
  return {};
}

Status run(const std::string& path, std::string_view kernels, size_t n_threads, int n_repeats) {
  KINGLET_ASSIGN(GgufFile file, read_gguf_file(path));
  KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file), kernels));
  const std::string document = letters(kDocument, 26, 1);
  const Task tasks[] = {{"copy", document, edited(document.substr(50, kAnswer))},
                        {"new", document, letters(kAnswer, 26, 2)},
                        {"chance", letters(kDocument, 6, 1), letters(kAnswer, 6, 2)}};
  for (const Task& task : tasks) {
    KINGLET_TRY(for_each_thread_count(
        n_threads, [&](size_t threads) { return measure(loaded, threads, task, n_repeats); }));
  }
  return {};
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  return kinglet::run_program("kinglet_lookup_speed", argc, argv, kinglet::run);
}
