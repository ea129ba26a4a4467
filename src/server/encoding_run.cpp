#include "server/encoding_run.h"

#include <utility>

namespace kinglet::server {
void EncodingRun::begin(std::shared_ptr<EncodingJob> job) {
  job_ = std::move(job);
  n_begun_ = 0;
  rows_.clear();
}

void EncodingRun::advance() {
  const Status status = advance_group();
  if (!status.ok()) {
    std::exchange(job_, nullptr)->deliver(status.error());
  } else if (rows_.size() == job_->texts().size()) {
    std::exchange(job_, nullptr)->deliver(std::move(rows_));
  }
}

void EncodingRun::abandon(const Error& error) {
  if (is_busy()) std::exchange(job_, nullptr)->deliver(error);
}

Status EncodingRun::advance_group() {
  if (rows_.size() == n_begun_) KINGLET_TRY(begin_group());
  KINGLET_TRY(group_.encoder().advance());
  return group_.encoder().n_left() == 0 ? read_group() : Status();
}

Status EncodingRun::begin_group() {
  group_.clear();
  while (n_begun_ < job_->texts().size() && !group_.is_full()) {
    group_.add(job_->texts()[n_begun_++]);
  }
  return group_.begin(job_->cancellation());
}

Status EncodingRun::read_group() {
  Encoder& encoder = group_.encoder();
  for (size_t i = 0; i < group_.n_texts(); ++i) {
    const bool ranks = job_->pooling() == Pooling::rank;
    std::vector<float> row(ranks ? model_.config().n_labels
                                 : encoder.embedding_size(i, job_->pooling()));
    KINGLET_TRY(ranks ? encoder.score(i, row) : encoder.embed(i, job_->pooling(), row));
    rows_.push_back(std::move(row));
  }
  return {};
}

}  // namespace kinglet::server
