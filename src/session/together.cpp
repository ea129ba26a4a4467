// Decoding of several sessions in one pass.
#include <algorithm>
#include <vector>

#include "session/session.h"

namespace kinglet {

Status Session::compute_together(std::span<Session* const> sessions, Scratch& scratch) {
  if (sessions.empty()) return {};
  std::vector<SequenceState*> states;
  std::vector<TokenId> tokens;
  for (Session* session : sessions) {
    states.push_back(&session->state_);
    tokens.push_back(session->tokens_.back());
  }
  const Session& first = *sessions.front();
  KINGLET_TRY(forward_together(first.model_, first.pool_, scratch, states, tokens));
  const size_t n_logits = first.model_.config().vocab_size;
  Status status;
  for (size_t i = 0; i < sessions.size() && status.ok(); ++i) {
    status = sessions[i]->check_finite({scratch.logits + i * n_logits, n_logits},
                                       sessions[i]->n_positions());
  }
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session& session = *sessions[i];
    if (!status.ok()) {
      session.state_.rollback();
      continue;
    }
    KINGLET_TRY(session.state_.commit());
    std::copy_n(scratch.logits + i * n_logits, n_logits, session.scratch_.logits);
    if (session.state_.size() % kCheckpointInterval == 0) session.add_checkpoint();
  }
  return status;
}

}  // namespace kinglet
