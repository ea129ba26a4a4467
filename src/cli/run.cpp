#include "cli/run.h"

#include <algorithm>
#include <span>
#include <thread>

#include "base/format.h"
#include "cli/models.h"
#include "cli/progress.h"
#include "kernels/measured.h"
#include "session/thread_choice.h"

namespace kinglet::cli {
namespace {

// Parses --kv: one kind for both sides, such as "int8", or "k=q8,v=q4". A side that is not named is
// auto.
Status parse_kv(std::string_view text, SequenceOptions& options) {
  const auto kind = [](std::string_view name, KvKind& out) -> Status {
    KINGLET_ASSIGN(out, choose_kv_kind(name));
    return {};
  };
  if (text.find('=') == std::string_view::npos) {
    KINGLET_TRY(kind(text, options.k_kind));
    return kind(text, options.v_kind);
  }
  options.k_kind = options.v_kind = kAutoKvKind;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (part.starts_with("k=")) {
      KINGLET_TRY(kind(part.substr(2), options.k_kind));
    } else if (part.starts_with("v=")) {
      KINGLET_TRY(kind(part.substr(2), options.v_kind));
    } else {
      return Error{ErrorCode::invalid_argument,
                   cat("--kv: found \"", part, "\", expected KIND or k=KIND,v=KIND")};
    }
  }
  return {};
}

// Loads a model; its errors name it.
template <class Kernels>
Result<LanguageModel> load_named(const std::string& name, GgufFile file, const Kernels& kernels) {
  auto loaded = load_language_model(std::move(file), kernels);
  if (loaded.ok()) return loaded;
  return Error{loaded.error().code, cat(name, ": ", loaded.error().message)};
}

}  // namespace

size_t threads_for(uint32_t asked) {
  if (asked > 0) return asked;
  const size_t n_hardware = std::thread::hardware_concurrency();
  const size_t n_usual = std::max({size_t{1}, std::min<size_t>(n_hardware, 2), n_hardware / 2});
  return std::min<size_t>(n_usual, kProgramThreads.most_usual);
}

Result<GgufFile> read_model(const std::string& model, const std::string& tables) {
  KINGLET_ASSIGN(const std::string path, model_path(model));
  ProgressBar bar("Loading");
  return read_gguf_file(path, stored_tables(tables),
                        [&](uint64_t n_read, uint64_t n_bytes) { bar.update(n_read, n_bytes); });
}

Result<std::unique_ptr<Run>> load_run(const RunOptions& options, SequenceOptions& session) {
  session.n_ctx = options.n_ctx;
  session.page_positions = options.kv_page;
  KINGLET_TRY(parse_kv(options.kv, session));
  KINGLET_ASSIGN(GgufFile file, read_model(options.model, options.tables));
  KINGLET_ASSIGN(const KernelSet* kernels, choose_kernels(options.kernels));
  if (options.measures_kernels) kernels = &measured_kernels(*kernels);
  KINGLET_ASSIGN(LanguageModel loaded, load_named(options.model, std::move(file), *kernels));
  auto run = std::make_unique<Run>(std::move(loaded), threads_for(options.n_threads));
  if (options.n_threads == 0) KINGLET_TRY(choose_threads(run->loaded.model, run->pool));
  if (!options.prompt_cache.folder.empty()) {
    KINGLET_ASSIGN(run->prompts, PromptFolder::open(run->loaded.model, options.prompt_cache));
  }
  return run;
}

Result<std::unique_ptr<Run>> start_run(const RunOptions& options) {
  SequenceOptions session;
  KINGLET_ASSIGN(auto run, load_run(options, session));
  KINGLET_ASSIGN(run->session, Session::create(run->loaded.model, run->pool, session));
  return run;
}

void choose_sampling(const Model& model, const SamplerChoice& chosen, SamplerOptions& options) {
  recommended_sampling(model.header()).apply_to(options);
  chosen.apply_to(options);
}

Result<std::unique_ptr<EncoderRun>> start_encoder(const EncoderOptions& options) {
  KINGLET_ASSIGN(GgufFile file, read_model(options.model, options.tables));
  KINGLET_ASSIGN(LanguageModel loaded, load_named(options.model, std::move(file), options.kernels));
  KINGLET_TRY(check_has_weights(loaded.model));
  return std::make_unique<EncoderRun>(std::move(loaded), threads_for(options.n_threads));
}

}  // namespace kinglet::cli
