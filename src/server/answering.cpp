#include "server/answering.h"

#include <utility>

namespace kinglet::server {
namespace {

// How often the patience is checked.
constexpr std::chrono::milliseconds kTick{50};

// A job that somebody waits for is cancelled only when the server is stopped: status 503.
ApiError told_error(const Error& error) {
  ApiError told = api_error(error);
  if (error.code == ErrorCode::cancelled) told.status = 503;
  return told;
}

// Submits the job and waits for it.
template <class T, class J>
ApiResult<T> result_of(Scheduler& scheduler, const std::shared_ptr<J>& job,
                       const Patience& patience) {
  scheduler.submit(job);
  std::optional<Result<T>> result;
  while (!(result = job->wait(kTick))) {
    if (ApiStatus status = patience(); !status.ok()) {
      job->cancel();
      return status.error();
    }
  }
  if (!result->ok()) return told_error(result->error());
  return std::move(result->value());
}

}  // namespace

Answering::Answering(Scheduler& scheduler, Metrics& metrics, TextAnswer answer, Patience patience)
    : scheduler_(scheduler),
      metrics_(metrics),
      answer_(std::move(answer)),
      patience_(std::move(patience)) {}

Answering::~Answering() {
  if (job_ != nullptr) job_->cancel();
  if (!answer_.is_done() && !has_failed_) ++metrics_.cancelled;
}

ApiStatus Answering::advance(std::vector<Json>& chunks) {
  if (job_ == nullptr) begin_choice(chunks);
  std::optional<GenerationEvent> event;
  while (!(event = job_->wait(kTick))) KINGLET_TRY(patience_());
  if (Clock::now() >= next_check_) {
    KINGLET_TRY(patience_());
    next_check_ = Clock::now() + kTick;
  }
  if (event->error) {
    has_failed_ = true;
    return told_error(*event->error);
  }
  answer_.read(event->step, event->n_cached, chunks);
  if (event->is_last()) job_ = nullptr;
  return {};
}

void Answering::begin_choice(std::vector<Json>& chunks) {
  ChoiceWork work = answer_.begin_choice(chunks);
  job_ = std::make_shared<GenerationJob>(work.prompt.tokens, std::move(work.options));
  scheduler_.submit(job_);
}

ApiResult<EncodingJob::Rows> encode(Scheduler& scheduler, std::vector<std::vector<TokenId>> texts,
                                    Pooling pooling, const Patience& patience) {
  return result_of<EncodingJob::Rows>(
      scheduler, std::make_shared<EncodingJob>(std::move(texts), pooling), patience);
}

ApiResult<PictureParts> read_picture(Scheduler& scheduler, Picture picture,
                                     const Patience& patience) {
  return result_of<PictureParts>(scheduler, std::make_shared<PictureJob>(std::move(picture)),
                                 patience);
}

}  // namespace kinglet::server
