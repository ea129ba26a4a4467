// Answers one request: makes its choices one after the other, and reports their events as they
// come.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "server/api.h"
#include "server/mailbox.h"
#include "server/metrics.h"
#include "server/scheduler.h"

namespace kinglet::server {

class Answering {
 public:
  // The scheduler and the metrics must outlive the object.
  Answering(Scheduler& scheduler, Metrics& metrics, TextAnswer answer, Deadline deadline);

  // Cancels the job that is not done. Counts an answer that is not whole and had no error.
  ~Answering();
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  // Waits for the next event and appends its chunks, if any. After an error there are no more
  // events.
  ApiStatus advance(std::vector<Json>& chunks);

  const TextAnswer& answer() const { return answer_; }

 private:
  void begin_choice(std::vector<Json>& chunks);

  Scheduler& scheduler_;
  Metrics& metrics_;
  TextAnswer answer_;
  Deadline deadline_;
  std::shared_ptr<Mailbox<AnswerEvent>> events_;  // of the current choice
  Clock::time_point next_check_ = {};  // when to call deadline_ again if events come quickly
  bool has_failed_ = false;            // a job had an error
};

// Waits for the vectors or scores of the texts, and returns them.
ApiResult<Rows> encode(Scheduler& scheduler, const Encoding& encoding, const Deadline& deadline);

// Waits for the parts that show a picture to the text model, and returns them.
ApiResult<PictureParts> read_picture(Scheduler& scheduler, Picture picture,
                                     const Deadline& deadline);

}  // namespace kinglet::server
