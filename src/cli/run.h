// A model ready to run, as the commands' common options describe it.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "model/encode.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet::cli {

struct Run {
  LanguageModel loaded;
  ThreadPool pool;
  std::unique_ptr<Session> session;

  Run(LanguageModel model, size_t n_threads) : loaded(std::move(model)), pool(n_threads) {}
};

Result<std::unique_ptr<Run>> start_run(const RunOptions& options);

// A model that has made states of a text.
struct EncoderRun {
  Model model;
  ThreadPool pool;
  std::optional<Encoder> encoder;

  EncoderRun(Model m, size_t n_threads) : model(std::move(m)), pool(n_threads) {}
};

Result<std::unique_ptr<EncoderRun>> encode_text(const EncoderOptions& options);

}  // namespace kinglet::cli
