#include "session/joint_decoding.h"

#include <utility>
#include <vector>

#include "model/forward.h"

namespace kinglet {

Result<std::optional<JointDecoding>> JointDecoding::create(const Model& model, ThreadPool& pool,
                                                           uint32_t n_most) {
  if (!can_run_together(model)) return std::optional<JointDecoding>();
  KINGLET_ASSIGN(Scratch scratch, Scratch::create(model, n_most, pool.n_threads(), n_most));
  return std::optional(JointDecoding(std::move(scratch), n_most));
}

size_t JointDecoding::compute(std::span<const RunningAnswer> answers) {
  std::vector<Session*> sessions;
  for (const RunningAnswer& answer : answers) {
    if (sessions.size() == n_most_) break;
    if (answer.generation->draws_next() && answer.session->can_join()) {
      sessions.push_back(answer.session);
    }
  }
  if (sessions.size() < 2 || !Session::compute_together(sessions, scratch_).ok()) return 0;
  return sessions.size();
}

}  // namespace kinglet
