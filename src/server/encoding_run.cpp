#include "server/encoding_run.h"

#include <utility>

namespace kinglet::server {
namespace {

// Texts are added to a group, which is computed together, until it has this many tokens.
constexpr size_t kGroupTokens = 1024;

}  // namespace

void EncodingRun::begin(std::shared_ptr<EncodingJob> job) {
  job_ = std::move(job);
  n_begun_ = 0;
  rows_.clear();
}

void EncodingRun::advance() {
  const Status status = advance_group();
  if (!status.ok()) {
    std::exchange(job_, nullptr)->deliver(status.error());
    encoder_.reset();
    n_room_ = 0;
  } else if (rows_.size() == job_->texts().size()) {
    std::exchange(job_, nullptr)->deliver(std::move(rows_));
  }
}

void EncodingRun::abandon(const Error& error) {
  if (is_busy()) std::exchange(job_, nullptr)->deliver(error);
}

Status EncodingRun::advance_group() {
  if (rows_.size() == n_begun_) KINGLET_TRY(begin_group());
  KINGLET_TRY(encoder_->advance());
  return encoder_->n_left() == 0 ? read_group() : Status();
}

Status EncodingRun::begin_group() {
  std::vector<std::span<const TokenId>> texts;
  size_t n_tokens = 0;
  while (n_begun_ < job_->texts().size() && n_tokens < kGroupTokens) {
    texts.emplace_back(job_->texts()[n_begun_++]);
    n_tokens += texts.back().size();
  }
  if (n_tokens > n_room_) {
    encoder_.reset();
    n_room_ = 0;
    KINGLET_ASSIGN(encoder_, Encoder::create(model_, pool_, static_cast<uint32_t>(n_tokens)));
    n_room_ = n_tokens;
  }
  return encoder_->begin(texts, job_->cancellation());
}

Status EncodingRun::read_group() {
  for (size_t i = 0; rows_.size() < n_begun_; ++i) {
    const bool ranks = job_->pooling() == Pooling::rank;
    std::vector<float> row(ranks ? model_.config().n_labels
                                 : encoder_->embedding_size(i, job_->pooling()));
    KINGLET_TRY(ranks ? encoder_->score(i, row) : encoder_->embed(i, job_->pooling(), row));
    rows_.push_back(std::move(row));
  }
  return {};
}

}  // namespace kinglet::server
