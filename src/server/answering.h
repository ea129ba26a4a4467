// One request's answer: its choices are made one after the other, and told as they come.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "server/answer_writer.h"
#include "server/api_error.h"
#include "server/scheduler.h"

namespace kinglet::server {

// Whether to go on waiting: an error where the client has gone, or the time is up.
using Patience = std::function<ApiStatus()>;

class Answering {
 public:
  // The scheduler must outlive it. `request` is the one that `writer` writes for.
  Answering(Scheduler& scheduler, std::shared_ptr<const GenerationRequest> request,
            std::unique_ptr<AnswerWriter> writer, Patience patience);

  // Cancels what is not done.
  ~Answering();
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  // Waits for the next step and appends the chunks that it makes, which may be none. After an error
  // there are no more.
  ApiStatus advance(std::vector<Json>& chunks);

  // All choices are written.
  bool is_done() const;

  const GenerationRequest& request() const { return *request_; }
  const AnswerWriter& writer() const { return *writer_; }

 private:
  void begin_choice(std::vector<Json>& chunks);

  Scheduler& scheduler_;
  std::shared_ptr<const GenerationRequest> request_;
  std::unique_ptr<AnswerWriter> writer_;
  Patience patience_;
  std::shared_ptr<GenerationJob> job_;  // of the choice that is being made
  uint32_t n_begun_ = 0;                // choices of all prompts
  Clock::time_point next_check_ = {};   // of the patience, where steps come quickly
};

// The vectors or scores, when they are there.
ApiResult<EncodingJob::Rows> encode(Scheduler& scheduler, std::vector<std::vector<TokenId>> texts,
                                    Pooling pooling, const Patience& patience);

// What the model is to see of a picture, when it is there.
ApiResult<PictureJob::Parts> read_picture(Scheduler& scheduler, Picture picture,
                                          const Patience& patience);

}  // namespace kinglet::server
