#include "answers/label_run.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/format.h"
#include "model/cpu_sequence.h"

namespace kinglet {
namespace {

constexpr uint32_t kMostBranches = 8;    // each takes scratch memory
constexpr uint32_t kMostHeld = 512;      // positions of prompts whose forks are computed together
constexpr uint32_t kPagePositions = 32;  // a fork copies at most one page

// How many tokens all prompts begin with.
uint32_t common_length(const std::vector<std::vector<TokenId>>& prompts) {
  auto n = static_cast<uint32_t>(prompts.size() > 1 ? prompts.front().size() : 0);
  for (const auto& prompt : prompts) {
    n = std::min(n, count_common(prompts.front(), prompt));
  }
  return n;
}

}  // namespace

Result<std::unique_ptr<LabelRun>> LabelRun::create(const Model& model, ThreadPool& pool,
                                                   const Encoding& wanted, double seconds) {
  size_t longest = 0;
  for (const auto& label : wanted.labels) longest = std::max(longest, label.size());
  const size_t n_most = model.config().context_length;
  size_t n_ctx = 0;
  for (size_t i = 0; i < wanted.texts.size(); ++i) {
    const size_t n = wanted.texts[i].size();
    if (n == 0) return Error{ErrorCode::invalid_argument, cat("text ", i, " has no tokens")};
    n_ctx = std::max(n_ctx, n + longest);
    if (n_ctx <= n_most) continue;
    return Error{ErrorCode::prompt_too_long,
                 cat("the prompt of text ", i, " has ", n, " tokens and the longest label ",
                     longest, ", but the model's context is ", n_most)};
  }
  const auto n_positions = static_cast<uint32_t>(n_ctx);
  // The session, what is held of earlier prompts, and the ends of forks.
  const auto n_ends = (kMostBranches + 1) * (static_cast<uint32_t>(longest) + 2 * kPagePositions);
  const SequenceOptions options{.n_ctx = n_positions,
                                .page_positions = kPagePositions,
                                .pool_positions = 2 * n_positions + kMostHeld + n_ends};
  KINGLET_ASSIGN(auto session, Session::create(model, pool, options));
  std::unique_ptr<JointPass> pass;
  if (longest > 1) {
    KINGLET_ASSIGN(pass, CpuJointPass::create(model, pool, kMostBranches));
  }
  return std::unique_ptr<LabelRun>(
      new LabelRun(model, wanted, std::move(session), std::move(pass), seconds));
}

LabelRun::LabelRun(const Model& model, const Encoding& wanted, std::unique_ptr<Session> session,
                   std::unique_ptr<JointPass> pass, double seconds)
    : wanted_(wanted),
      session_(std::move(session)),
      pass_(std::move(pass)),
      pace_(seconds, session_->n_batch()),
      measured_(model.config().vocab_size, 0, model.kernels()),
      n_common_(common_length(wanted.texts)) {}

Status LabelRun::advance(Rows& rows, const Cancellation& cancellation) {
  if (is_reading()) {
    KINGLET_TRY(read());
  } else if (must_step()) {
    KINGLET_TRY(step(cancellation));
  } else {
    return begin_text(cancellation);
  }
  if (!is_reading()) KINGLET_TRY(branch());
  finish(rows);
  return {};
}

// Whether the branches are to be computed before another prompt is read.
bool LabelRun::must_step() const {
  if (branches_.empty()) return false;
  return n_branched_ < wanted_.labels.size() || branches_.size() == kMostBranches ||
         n_begun_ == wanted_.texts.size() || n_held_ + wanted_.texts[n_begun_].size() > kMostHeld;
}

// Begins to read the next prompt, or first what all of them begin with.
Status LabelRun::begin_text(const Cancellation& cancellation) {
  const std::span<const TokenId> prompt = wanted_.texts[n_begun_];
  if (session_->n_positions() < n_common_) {
    return session_->begin(prompt.first(n_common_),
                           {.output = Output::none, .cancellation = cancellation});
  }
  KINGLET_TRY(session_->begin(prompt, {.replaces_context = true, .cancellation = cancellation}));
  ++n_begun_;
  n_branched_ = 0;
  n_held_ += prompt.size();
  return {};
}

// Reads a batch. At the end of a prompt, scores the first token of each label.
Status LabelRun::read() {
  const Clock::time_point begin = Clock::now();
  const uint32_t n_left = session_->n_left();
  KINGLET_TRY(session_->advance(pace_.size()));
  pace_.took(n_left - session_->n_left(), seconds_since(begin));
  if (is_reading()) return {};
  // Layers with a recurrent state can go back only to a checkpoint.
  session_->add_checkpoint();
  if (n_begun_ == 0) return {};
  const std::span<const float> logits = session_->logits();
  measured_.measure(logits);
  std::vector<float>& scores = scores_.emplace_back();
  for (const auto& label : wanted_.labels) {
    scores.push_back(logprob(logits, label.front()));
  }
  return {};
}

// The logarithm of a token's probability by the measured logits.
float LabelRun::logprob(std::span<const float> logits, TokenId token) const {
  return static_cast<float>(static_cast<double>(logits[static_cast<size_t>(token)]) -
                            measured_.log_sum());
}

// Makes branches of the prompt's labels that have more tokens.
Status LabelRun::branch() {
  if (n_begun_ == 0) return {};
  for (; n_branched_ < wanted_.labels.size(); ++n_branched_) {
    const auto& label = wanted_.labels[n_branched_];
    if (label.size() == 1) continue;
    if (branches_.size() == kMostBranches) break;
    KINGLET_ASSIGN(auto fork, session_->fork());
    KINGLET_TRY(fork->defer(label.front()));
    branches_.push_back({std::move(fork), n_begun_ - 1, n_branched_, 1});
  }
  if (branches_.empty()) n_held_ = 0;
  return {};
}

// Computes a token of each branch.
Status LabelRun::step(const Cancellation& cancellation) {
  if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
  std::vector<Session*> sessions;
  for (const Branch& branch : branches_) sessions.push_back(branch.session.get());
  if (pass_ != nullptr && sessions.size() > 1) {
    KINGLET_TRY(Session::compute_together(sessions, *pass_));
  } else {
    for (Session* session : sessions) {
      KINGLET_TRY(session->begin_logits(cancellation));
      KINGLET_TRY(session->advance());
    }
  }
  const size_t first = n_begun_ - scores_.size();
  for (Branch& branch : branches_) {
    const auto& label = wanted_.labels[branch.label];
    const std::span<const float> logits = branch.session->logits();
    measured_.measure(logits);
    scores_[branch.text - first][branch.label] += logprob(logits, label[branch.n_read]);
    if (++branch.n_read < label.size()) {
      KINGLET_TRY(branch.session->defer(label[branch.n_read - 1]));
    }
  }
  std::erase_if(branches_, [&](const Branch& branch) {
    return branch.n_read == wanted_.labels[branch.label].size();
  });
  return {};
}

// Moves the texts that are done, in their order.
void LabelRun::finish(Rows& rows) {
  while (!scores_.empty()) {
    const bool is_last = scores_.size() == 1;
    if (is_last && n_branched_ < wanted_.labels.size()) return;
    for (const Branch& branch : branches_) {
      if (branch.text == rows.size()) return;
    }
    std::vector<float> row = std::move(scores_.front());
    scores_.pop_front();
    for (size_t i = 0; wanted_.per_token && i < row.size(); ++i) {
      row[i] /= static_cast<float>(wanted_.labels[i].size());
    }
    make_probabilities(row);
    rows.push_back(std::move(row));
  }
}

}  // namespace kinglet
