#include "session/joint_decoding.h"

#include <vector>

#include "model/cpu_sequence.h"

namespace kinglet {

Result<std::optional<JointDecoding>> JointDecoding::create(const Model& model, ThreadPool& pool,
                                                           uint32_t n_most) {
  KINGLET_ASSIGN(auto pass, CpuJointPass::create(model, pool, n_most));
  if (pass == nullptr) return std::optional<JointDecoding>();
  return std::optional(JointDecoding(std::move(pass)));
}

size_t JointDecoding::compute(std::span<const RunningAnswer> answers) {
  std::vector<Session*> sessions;
  for (const RunningAnswer& answer : answers) {
    if (sessions.size() == pass_->n_most()) break;
    if (answer.generation->draws_next() && answer.session->can_join()) {
      sessions.push_back(answer.session);
    }
  }
  if (sessions.size() < 2 || !Session::compute_together(sessions, *pass_).ok()) return 0;
  return sessions.size();
}

}  // namespace kinglet
