// A model ready to run, as the commands' common options describe it.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "gguf/file.h"
#include "model/encode.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet::cli {

// The file that is given as a model: a path, or the address of one that was pulled. `tables`: see
// RunOptions.
Result<GgufFile> read_model(const std::string& model, const std::string& tables = "memory");

struct Run {
  LanguageModel loaded;
  ThreadPool pool;
  std::unique_ptr<Session> session;

  Run(LanguageModel model, size_t n_threads) : loaded(std::move(model)), pool(n_threads) {}
};

Result<std::unique_ptr<Run>> start_run(const RunOptions& options);

// The same without a session, of which `session` gets the options.
Result<std::unique_ptr<Run>> load_run(const RunOptions& options, SessionOptions& session);

// The options that were chosen, or else what the file recommends.
void choose_sampling(const Model& model, const SamplerChoice& chosen, SamplerOptions& options);

// A model that makes vectors or scores of texts.
struct EncoderRun {
  LanguageModel loaded;
  ThreadPool pool;
  std::optional<Encoder> encoder;  // with room for the last texts
  size_t n_tokens = 0;             // that it has room for

  EncoderRun(LanguageModel model, size_t n_threads) : loaded(std::move(model)), pool(n_threads) {}

  // Computes the states of the texts, each its tokens.
  Status compute(const std::vector<std::vector<TokenId>>& texts);
};

Result<std::unique_ptr<EncoderRun>> start_encoder(const EncoderOptions& options);

}  // namespace kinglet::cli
