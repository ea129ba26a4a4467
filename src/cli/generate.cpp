#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "answers/answer.h"
#include "chat/answer_plan.h"
#include "cli/commands.h"
#include "cli/images.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/rate.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "json/json.h"
#include "kernels/measured.h"
#include "session/generation.h"
#include "session/image_prompt.h"

namespace kinglet::cli {
namespace {

// Prints a line such as "prompt: 12 tokens, 340.1 tokens/s".
void print_speed(const char* phase, size_t n_tokens, double seconds) {
  std::fprintf(stderr, "%s: %zu tokens, %.1f tokens/s\n", phase, n_tokens,
               per_second(n_tokens, seconds));
}

void print_metrics(const Run& run, size_t n_prompt, const AnswerCounts& counts) {
  const KernelSet& kernels = run.loaded.model.kernels();
  const LatencyHistogram latencies = kernel_latencies(kernels);
  std::fprintf(stderr, "{\"kernels\":{\"name\":\"%s\",\"calls\":%llu,\"microseconds\":{",
               std::string(kernels.name).c_str(),
               static_cast<unsigned long long>(latencies.count()));
  std::fprintf(stderr, "\"min\":%.3f,\"max\":%.3f,\"mean\":%.3f,\"variance\":%.3f,",
               latencies.min(), latencies.max(), latencies.mean(), latencies.variance());
  std::fprintf(stderr, "\"p50\":%.3f,\"p95\":%.3f,\"p99\":%.3f,\"buckets\":{",
               latencies.percentile(0.5), latencies.percentile(0.95), latencies.percentile(0.99));
  for (size_t i = 0; i < latencies.buckets().size(); ++i) {
    std::fprintf(stderr, "%s\"%.0f\":%llu", i > 0 ? "," : "", LatencyHistogram::kBucketBegins[i],
                 static_cast<unsigned long long>(latencies.buckets()[i]));
  }
  std::fprintf(stderr,
               "}}},\"time_to_first_token\":%.4f,\"prefill_tokens_per_s\":%.1f,"
               "\"decode_tokens_per_s\":%.1f,",
               counts.prompt_seconds, per_second(n_prompt, counts.prompt_seconds),
               per_second(counts.n_decoded(), counts.decode_seconds));
  const SequenceBytes bytes = run.session->bytes();
  std::fprintf(
      stderr, "\"bytes\":{\"weights\":%llu,\"kv\":%llu,\"recurrent\":%llu,\"scratch\":%llu}}\n",
      static_cast<unsigned long long>(run.loaded.model.weight_bytes()),
      static_cast<unsigned long long>(bytes.kv), static_cast<unsigned long long>(bytes.recurrent),
      static_cast<unsigned long long>(bytes.scratch));
}

constexpr std::string_view kImageMark = "<image>";

// Returns the prompt's tokens, with the rows of its pictures.
Result<ImagePrompt> encode_prompt(const GenerateOptions& options, Run& run) {
  const EncodeOptions encoding = {.add_bos = options.add_bos,
                                  .parse_special = options.parse_special};
  const Tokenizer& tokenizer = *run.loaded.tokenizer;
  if (options.images.files.empty()) {
    return ImagePrompt{tokenizer.encode(options.prompt, encoding), {}};
  }
  KINGLET_ASSIGN(const auto reader,
                 PictureFileReader::open(options.images.mmproj, options.run.model, run));
  std::vector<std::vector<ImagePart>> pictures;
  for (const std::string& path : options.images.files) {
    KINGLET_ASSIGN(auto parts, reader->read(path, {}));
    pictures.push_back(std::move(parts));
  }
  std::string text = options.prompt;
  if (text.find(kImageMark) == text.npos) {
    for (size_t i = 0; i < pictures.size(); ++i) text.insert(0, kImageMark);
  }
  return encode_with_images(tokenizer, text, {}, kImageMark, pictures, encoding);
}

// Reads the file of the grammar or of the schema, if there is one.
Result<AnswerPlan> plan(const GenerateOptions& options, const Tokenizer& tokenizer) {
  std::string grammar;
  std::optional<Json> schema;
  if (!options.grammar.empty()) {
    KINGLET_ASSIGN(grammar, read_filled_file(options.grammar));
  }
  if (!options.schema.empty()) {
    KINGLET_ASSIGN(schema, read_json_file(options.schema));
  }
  const AnswerDemands demands{.schema = schema ? &*schema : nullptr,
                              .open_objects = options.open_objects,
                              .grammar = grammar};
  return plan_answer({}, demands, "", "", tokenizer);
}

}  // namespace

Status generate(GenerateOptions options) {
  KINGLET_ASSIGN(const auto run, start_run(options.run));
  KINGLET_ASSIGN(const AnswerPlan answer_plan, plan(options, *run->loaded.tokenizer));
  for (const std::string& warning : answer_plan.warnings) report(warning);
  choose_sampling(run->loaded.model, options.sampling, options.generation.sampler);
  KINGLET_ASSIGN(ImagePrompt composed, encode_prompt(options, *run));
  const std::vector<TokenId>& prompt = composed.tokens;
  options.generation.images = std::move(composed.images);
  // The next call may have the same prompt: one process reads only one.
  if (run->cache() != nullptr && !prompt.empty()) {
    options.generation.n_opening = static_cast<uint32_t>(prompt.size() - 1);
  }
  KINGLET_ASSIGN(Answer answer, Answer::start(*run->session, *run->loaded.tokenizer, prompt,
                                              options.generation, answer_plan, run->cache()));
  AnswerEvent event;
  ProgressBar bar("Reading");
  while (!event.is_last()) {
    KINGLET_ASSIGN(event, answer.step());
    if (!event.has_token()) bar.update(event.counts.n_prompt_done, prompt.size());
    if (!event.added.text.empty()) bar.clear();
    show(event.added.text);
  }
  std::fputc('\n', stdout);
  const AnswerCounts& counts = event.counts;
  if (options.run.measures_kernels) {
    print_metrics(*run, prompt.size(), counts);
  }
  if (options.show_speed) {
    print_speed("prompt", prompt.size(), counts.prompt_seconds);
    print_speed("answer", counts.n_decoded(), counts.decode_seconds);
    std::fprintf(stderr, "guessed: %u tokens, %u kept\n", counts.n_guessed, counts.n_accepted);
    std::fprintf(stderr, "kernels: %.*s, %zu threads\n",
                 static_cast<int>(run->loaded.model.kernels().name.size()),
                 run->loaded.model.kernels().name.data(), run->pool.n_threads());
  }
  return {};
}

}  // namespace kinglet::cli
