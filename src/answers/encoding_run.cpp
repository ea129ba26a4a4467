#include "answers/encoding_run.h"

#include <algorithm>
#include <span>
#include <utility>

namespace kinglet {

void EncodingRun::advance() {
  const Status status = advance_group();
  if (!status.ok()) {
    finish(status.error());
  } else if (rows_.size() == jobs_.front().encoding.texts.size()) {
    finish(std::move(rows_));
  }
}

void EncodingRun::abandon(const Error& error) {
  while (is_busy()) finish(error);
}

void EncodingRun::finish(Result<Rows> result) {
  jobs_.front().deliver(std::move(result));
  jobs_.pop_front();
  n_begun_ = 0;
  rows_.clear();
}

Status EncodingRun::advance_group() {
  if (rows_.size() == n_begun_) KINGLET_TRY(begin_group());
  KINGLET_TRY(group_.encoder().advance());
  return group_.encoder().n_left() == 0 ? read_group() : Status();
}

Status EncodingRun::begin_group() {
  group_.clear();
  while (n_begun_ < jobs_.front().encoding.texts.size() && !group_.is_full()) {
    group_.add(jobs_.front().encoding.texts[n_begun_++]);
  }
  return group_.begin(jobs_.front().cancellation);
}

Status EncodingRun::read_group() {
  for (size_t i = 0; i < group_.n_texts(); ++i) {
    KINGLET_ASSIGN(std::vector<float> row, this->row(i));
    rows_.push_back(std::move(row));
  }
  if (jobs_.front().on_progress) jobs_.front().on_progress(rows_.size());
  return {};
}

// Reads the row of a text of the group.
Result<std::vector<float>> EncodingRun::row(size_t text) {
  const Encoding& wanted = jobs_.front().encoding;
  Encoder& encoder = group_.encoder();
  if (wanted.pooling == Pooling::rank) {
    std::vector<float> scores(model_.config().n_labels);
    KINGLET_TRY(encoder.score(text, scores));
    return scores;
  }
  std::vector<float> numbers(encoder.embedding_size(text, wanted.pooling));
  KINGLET_TRY(encoder.embed(text, wanted.pooling, numbers));
  const size_t width = encoder.embedding_dim();
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
