// Loads a model and prepares it to run, by the options that commands share.
#pragma once

#include <memory>

#include "answers/encoding_run.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/prompt_folder.h"
#include "gguf/file.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet::cli {

// Returns the number of threads that was asked for; 0: the default. More threads than physical
// cores, usually half of what the system reports, only disturb each other. If the system reports
// two, choose_threads() measures whether two are faster than one.
size_t threads_for(uint32_t asked);

// Reads a model file, given by its path or by the hub address of a file that was pulled. `tables`:
// see RunOptions.
Result<GgufFile> read_model(const std::string& model, const std::string& tables = "memory");

struct Run {
  LanguageModel loaded;
  ThreadPool pool;
  std::unique_ptr<Session> session;
  std::unique_ptr<PromptFolder> prompts;  // null: prompts are not stored

  PromptCache* cache() { return prompts == nullptr ? nullptr : &prompts->cache(); }

  Run(LanguageModel model, size_t n_threads) : loaded(std::move(model)), pool(n_threads) {}
};

Result<std::unique_ptr<Run>> start_run(const RunOptions& options);

// Loads a model without a session. Sets the options that a session would have in `session`.
Result<std::unique_ptr<Run>> load_run(const RunOptions& options, SequenceOptions& session);

// Sets the options that the file recommends, then those that were chosen.
void choose_sampling(const Model& model, const SamplerChoice& chosen, SamplerOptions& options);

// A model that makes vectors or scores of texts.
struct EncoderRun {
  LanguageModel loaded;
  ThreadPool pool;
  EncodingRun encoding;

  EncoderRun(LanguageModel model, size_t n_threads)
      : loaded(std::move(model)), pool(n_threads), encoding(loaded.model, pool) {}
};

Result<std::unique_ptr<EncoderRun>> start_encoder(const EncoderOptions& options);

}  // namespace kinglet::cli
