#include "server/answering.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace kinglet::server {
namespace {

// How often the deadline is checked.
constexpr std::chrono::milliseconds kTick{50};

// A job that somebody waits for is cancelled only when the server is stopped: status 503.
ApiError shown_error(const Error& error) {
  ApiError shown = api_error(error);
  if (error.code == ErrorCode::cancelled) shown.status = 503;
  return shown;
}

// Submits the job and waits for its only result.
template <class T, class J>
ApiResult<T> result_of(Scheduler& scheduler, J job, const Deadline& deadline) {
  const auto mailbox = std::make_shared<Mailbox<T>>();
  job.cancellation = mailbox->cancellation();
  job.deliver = [mailbox](Result<T> result) { mailbox->deliver(std::move(result)); };
  scheduler.submit(std::move(job));
  std::optional<Result<T>> result;
  while (!(result = mailbox->wait(kTick))) {
    if (ApiStatus status = deadline(); !status.ok()) {
      mailbox->cancel();
      return status.error();
    }
  }
  if (!result->ok()) return shown_error(result->error());
  return std::move(result->value());
}

}  // namespace

Answering::Answering(Scheduler& scheduler, Metrics& metrics, TextAnswer answer, Deadline deadline)
    : scheduler_(scheduler),
      metrics_(metrics),
      answer_(std::move(answer)),
      deadline_(std::move(deadline)) {}

Answering::~Answering() {
  if (events_ != nullptr) events_->cancel();
  if (!answer_.is_done() && !has_failed_) ++metrics_.cancelled;
}

ApiStatus Answering::advance(std::vector<Json>& chunks) {
  if (events_ == nullptr) begin_choice(chunks);
  std::optional<Result<AnswerEvent>> event;
  while (!(event = events_->wait(kTick))) KINGLET_TRY(deadline_());
  if (Clock::now() >= next_check_) {
    KINGLET_TRY(deadline_());
    next_check_ = Clock::now() + kTick;
  }
  if (!event->ok()) {
    has_failed_ = true;
    return shown_error(event->error());
  }
  answer_.read(event->value(), chunks);
  if (event->value().is_last()) events_ = nullptr;
  return {};
}

void Answering::begin_choice(std::vector<Json>& chunks) {
  ChoiceWork work = answer_.begin_choice(chunks);
  events_ = std::make_shared<Mailbox<AnswerEvent>>();
  work.options.cancellation = events_->cancellation();
  auto deliver = [events = events_](Result<AnswerEvent> event) {
    events->deliver(std::move(event));
  };
  scheduler_.submit(
      AnswerJob{work.prompt.tokens, std::move(work.options), work.plan, std::move(deliver)});
}

ApiResult<Rows> encode(Scheduler& scheduler, const Encoding& encoding, const Deadline& deadline) {
  return result_of<Rows>(scheduler, EncodingJob{.encoding = encoding, .deliver = {}}, deadline);
}

ApiResult<PictureParts> read_picture(Scheduler& scheduler, Picture picture,
                                     const Deadline& deadline) {
  return result_of<PictureParts>(scheduler, PictureJob{std::move(picture), {}, {}}, deadline);
}

}  // namespace kinglet::server
