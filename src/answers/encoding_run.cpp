#include "answers/encoding_run.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "session/logprobs.h"

namespace kinglet {

void make_probabilities(std::vector<float>& scores) {
  const double sum = log_sum_exp(scores);
  for (float& score : scores) score = static_cast<float>(std::exp(score - sum));
}

void EncodingRun::advance() {
  const Encoding& wanted = jobs_.front().encoding;
  const size_t n_texts = wanted.texts.size();
  if (rows_.size() < n_texts) {
    const Status status = wanted.labels.empty() ? advance_group() : advance_labels();
    if (!status.ok()) return finish(status.error());
  }
  if (rows_.size() == n_texts) finish(std::move(rows_));
}

void EncodingRun::run(EncodingJob job) {
  submit(std::move(job));
  while (is_busy()) advance();
}

void EncodingRun::abandon(const Error& error) {
  while (is_busy()) finish(error);
}

void EncodingRun::finish(Result<Rows> result) {
  jobs_.front().deliver(std::move(result));
  jobs_.pop_front();
  n_begun_ = 0;
  rows_.clear();
  labels_.reset();
}

Status EncodingRun::advance_labels() {
  const EncodingJob& job = jobs_.front();
  if (labels_ == nullptr) {
    KINGLET_ASSIGN(labels_, LabelRun::create(model_, pool_, job.encoding, batch_seconds_));
  }
  const size_t n_before = rows_.size();
  KINGLET_TRY(labels_->advance(rows_, job.cancellation));
  if (job.on_progress && rows_.size() > n_before) job.on_progress(rows_.size());
  return {};
}

Status EncodingRun::advance_group() {
  if (rows_.size() == n_begun_) KINGLET_TRY(begin_group());
  KINGLET_TRY(encoder_->advance());
  return encoder_->n_left() == 0 ? read_group() : Status();
}

Status EncodingRun::begin_group() {
  const auto& texts = jobs_.front().encoding.texts;
  std::vector<std::span<const TokenId>> group;
  size_t n_tokens = 0;
  for (; n_begun_ < texts.size() && n_tokens < kGroupTokens; ++n_begun_) {
    group.emplace_back(texts[n_begun_]);
    n_tokens += texts[n_begun_].size();
  }
  if (!encoder_ || n_tokens > n_room_) {
    encoder_.reset();  // its memory may be needed
    n_room_ = std::max<size_t>(n_tokens, 1);
    KINGLET_ASSIGN(encoder_, Encoder::create(model_, pool_, static_cast<uint32_t>(n_room_)));
  }
  return encoder_->begin(group, jobs_.front().cancellation);
}

Status EncodingRun::read_group() {
  for (size_t i = 0; i < encoder_->n_texts(); ++i) {
    KINGLET_ASSIGN(std::vector<float> row, this->row(i));
    rows_.push_back(std::move(row));
  }
  if (jobs_.front().on_progress) jobs_.front().on_progress(rows_.size());
  return {};
}

// Reads the row of a text of the group.
Result<std::vector<float>> EncodingRun::row(size_t text) {
  const Encoding& wanted = jobs_.front().encoding;
  if (wanted.pooling == Pooling::rank) {
    std::vector<float> scores(model_.config().n_labels);
    KINGLET_TRY(encoder_->score(text, scores));
    if (wanted.normalizes && !model_.config().architecture->ranking.softmax) {
      make_probabilities(scores);
    }
    return scores;
  }
  std::vector<float> numbers(encoder_->embedding_size(text, wanted.pooling));
  KINGLET_TRY(encoder_->embed(text, wanted.pooling, numbers));
  const size_t width = encoder_->embedding_dim();
  const size_t n_kept = wanted.n_numbers == 0 ? width : std::min<size_t>(wanted.n_numbers, width);
  std::vector<float> kept;
  for (size_t i = 0; i < numbers.size(); i += width) {
    const auto vector = std::span(numbers).subspan(i, n_kept);
    if (wanted.normalizes) normalize_length(vector);
    kept.insert(kept.end(), vector.begin(), vector.end());
  }
  return kept;
}

}  // namespace kinglet
