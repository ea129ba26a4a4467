#include "session/memory_plan.h"

#include <algorithm>
#include <utility>

#include "model/cpu_sequence.h"
#include "model/encode.h"
#include "model/model.h"

namespace kinglet {

Result<MemoryPlan> plan_memory(GgufFile outline, const KernelSet& kernels, size_t n_threads,
                               const SequenceOptions& options) {
  const uint64_t file_bytes = outline.file_bytes();
  KINGLET_ASSIGN(const Model model, Model::outline(std::move(outline), kernels));
  MemoryPlan plan{.file = file_bytes,
                  .weights = model.weight_bytes(),
                  .stored = model.stored_bytes(),
                  .session = {}};
  if (!model.has_weights()) return plan;
  const ModelConfig& config = model.config();
  if (config.makes_text()) {
    KINGLET_ASSIGN(plan.session, CpuSequence::bytes_of(model, n_threads, options));
  } else {
    plan.encoder =
        Encoder::bytes_of(model, n_threads, std::min(config.context_length, kMostEncoded));
  }
  return plan;
}

}  // namespace kinglet
