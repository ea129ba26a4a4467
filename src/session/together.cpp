// Decoding of several sessions in one pass.
#include <vector>

#include "session/session.h"

namespace kinglet {

Status Session::compute_together(std::span<Session* const> sessions, JointPass& pass) {
  if (sessions.empty()) return {};
  std::vector<Sequence*> sequences;
  std::vector<TokenId> tokens;
  for (Session* session : sessions) {
    sequences.push_back(session->sequence_.get());
    tokens.push_back(session->tokens_.back());
  }
  KINGLET_TRY(pass.run(sequences, tokens));
  for (Session* session : sessions) session->last_row_ = 0;
  Status status;
  for (size_t i = 0; i < sessions.size() && status.ok(); ++i) {
    status = sessions[i]->check_finite(sessions[i]->n_positions());
  }
  for (Session* session : sessions) {
    if (!status.ok()) {
      session->sequence_->state().rollback();
      continue;
    }
    KINGLET_TRY(session->sequence_->state().commit(1));
    if (session->n_computed() % kCheckpointInterval == 0) session->add_checkpoint();
  }
  return status;
}

}  // namespace kinglet
