// Computes how probable labels are as continuations of prompts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "answers/batch_pace.h"
#include "answers/encoding.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/model.h"
#include "model/sequence.h"
#include "session/logprobs.h"
#include "session/session.h"

namespace kinglet {

// One session reads the prompts one after the other, and keeps what they begin with alike. The
// logits after a prompt give the probabilities of the labels' first tokens. For its other tokens, a
// label gets a fork of the session. The forks, also of several prompts, are computed in one pass,
// one token of each, if the model's layers allow that.
class LabelRun {
 public:
  // All must outlive the object. `seconds`: see BatchPace. Errors: prompt_too_long (names the
  // text), invalid_argument (a text without tokens), out_of_memory.
  static Result<std::unique_ptr<LabelRun>> create(const Model& model, ThreadPool& pool,
                                                  const Encoding& wanted, double seconds);

  // Computes one step: a batch of a prompt, or a token of each fork. Appends to `rows` the
  // probabilities of the texts that are done. Errors: those of Session::advance().
  Status advance(Rows& rows, const Cancellation& cancellation);

 private:
  // A label whose first tokens are computed.
  struct Branch {
    std::unique_ptr<Session> session;
    size_t text;
    size_t label;
    size_t n_read;  // tokens whose probability is known
  };

  LabelRun(const Model& model, const Encoding& wanted, std::unique_ptr<Session> session,
           std::unique_ptr<JointPass> pass, double seconds);

  bool is_reading() const { return session_->n_left() > 0; }
  bool must_step() const;
  Status begin_text(const Cancellation& cancellation);
  Status read();
  float logprob(std::span<const float> logits, TokenId token) const;
  Status branch();
  Status step(const Cancellation& cancellation);
  void finish(Rows& rows);

  const Encoding& wanted_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<JointPass> pass_;  // null: each fork is computed alone
  BatchPace pace_;
  Logprobs measured_;
  const uint32_t n_common_;  // tokens that all prompts begin with
  size_t n_begun_ = 0;       // texts
  size_t n_branched_ = 0;    // labels of the last begun text that are scored or have a branch
  size_t n_held_ = 0;  // positions of the prompts that were begun since there were no branches
  std::deque<std::vector<float>> scores_;  // of the begun texts that are not done
  std::vector<Branch> branches_;
};

}  // namespace kinglet
