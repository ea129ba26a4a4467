// Decodes several answers in one pass through the model: the weights are read once for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/model.h"
#include "model/sequence.h"
#include "session/generation.h"
#include "session/session.h"

namespace kinglet {

// An answer that is being generated.
struct RunningAnswer {
  Session* session;
  const Generation* generation;
};

class JointDecoding {
 public:
  // For sessions that the pool computes, up to n_most at once. Returns nothing if the model decodes
  // each answer alone: see can_run_together(). The model and the pool must outlive it.
  // ErrorCode::out_of_memory.
  static Result<std::optional<JointDecoding>> create(const Model& model, ThreadPool& pool,
                                                     uint32_t n_most);

  explicit JointDecoding(std::unique_ptr<JointPass> pass) : pass_(std::move(pass)) {}

  // Computes the tokens that the last steps of these answers sampled, up to n_most of them. The
  // sessions must have contexts of one size. The next steps of the answers then only sample, and
  // sample the same as without this. Returns the number of tokens: 0 if fewer than two answers
  // have one to compute, or after an error, which each answer's own step then reports.
  size_t compute(std::span<const RunningAnswer> answers);

 private:
  std::unique_ptr<JointPass> pass_;
};

}  // namespace kinglet
