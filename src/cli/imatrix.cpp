#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/models.h"
#include "cli/new_file.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/windows.h"
#include "gguf/importance.h"
#include "gguf/split.h"
#include "model/cpu_sequence.h"
#include "model/importance_collector.h"

namespace kinglet::cli {
namespace {

constexpr uint32_t kUsualChunk = 512;  // llama.cpp's

Status compute_text(CpuSequence& sequence, const TextWindows& windows) {
  ProgressBar bar("Measuring");
  for (size_t i = 0; i < windows.count(); ++i) {
    KINGLET_TRY(sequence.state().truncate(0));
    for (auto rest = windows[i]; !rest.empty();) {
      const auto batch = rest.first(std::min<size_t>(rest.size(), sequence.n_batch()));
      KINGLET_TRY(sequence.forward(batch, {.output = Output::none}));
      rest = rest.subspan(batch.size());
    }
    bar.update(i + 1, windows.count());
  }
  return {};
}

// Says on standard error how much of the model the text has reached.
void report_reached(const ImportanceMatrix& matrix, size_t n_tokens) {
  size_t n_matrices = 0;
  size_t n_missed = 0;
  for (const auto& [name, entry] : matrix.entries) {
    n_matrices += entry.counts.size();
    n_missed += static_cast<size_t>(std::count(entry.counts.begin(), entry.counts.end(), 0.0f));
  }
  std::fprintf(stderr, "%zu tokens, %zu matrices\n", n_tokens, n_matrices);
  if (n_missed > 0) {
    std::fprintf(stderr, "The text did not reach %zu matrices of experts: try a longer one\n",
                 n_missed);
  }
}

}  // namespace

Status imatrix(const ImatrixOptions& options) {
  KINGLET_ASSIGN(const std::string input, model_path(options.run.model));
  std::vector<std::string> inputs = split_paths(input);
  inputs.push_back(options.file);
  KINGLET_TRY(check_output(options.output, inputs, options.replaces));
  KINGLET_ASSIGN(const std::string text, read_text_file(options.file));
  SequenceOptions session;
  KINGLET_ASSIGN(const auto run, load_run(options.run, session));
  const Model& model = run->loaded.model;
  if (session.n_ctx == 0) session.n_ctx = std::min(kUsualChunk, model.config().context_length);
  KINGLET_ASSIGN(const auto sequence, CpuSequence::create(model, run->pool, session));
  KINGLET_ASSIGN(const TextWindows windows,
                 TextWindows::cut(*run->loaded.tokenizer, text, session.n_ctx));
  ImportanceCollector collector(model.header());
  sequence->observe(collector);
  KINGLET_TRY(compute_text(*sequence, windows));
  KINGLET_ASSIGN(ImportanceMatrix matrix, collector.finish());
  matrix.datasets = {options.file};
  matrix.n_chunks = static_cast<uint32_t>(windows.count());
  matrix.chunk_size = session.n_ctx;
  KINGLET_ASSIGN(NewFile written, NewFile::create(options.output));
  KINGLET_TRY(matrix.write(written.path()));
  KINGLET_TRY(written.keep());
  report_reached(matrix, windows.count() * session.n_ctx);
  return {};
}

}  // namespace kinglet::cli
