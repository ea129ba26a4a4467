// Computes answers, appended tokens and whole texts, which take turns.
//
// Answers begin in the order in which they were submitted. The running ones take turns; a turn
// computes one token, or a batch of the prompt. The tokens of a round are computed in one pass
// through the model if its layers allow that: the weights are then read once for all answers. The
// sampled tokens are the same as without it. Texts to encode take one turn in each round.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "answers/answer.h"
#include "answers/batch_pace.h"
#include "answers/encoding_run.h"
#include "answers/session_pool.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "chat/answer_plan.h"
#include "model/images.h"
#include "session/generation.h"
#include "session/joint_decoding.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet {

// One answer to one prompt.
struct AnswerJob {
  std::vector<TokenId> prompt;
  GenerationOptions options;
  AnswerPlan plan;
  // Receives the events that are news. The last one is an error, or is_last().
  std::function<void(Result<AnswerEvent>)> deliver;
  // Where the answer is written; must outlive it. Null: in one of the runner's own sessions, which
  // share their pages.
  Session* session = nullptr;
};

// Tokens to append to the context of a session.
struct AppendJob {
  std::vector<TokenId> tokens;
  std::vector<SharedImage> images = {};  // see AppendOptions
  Cancellation cancellation = {};
  // Receives the logits after the last token. After an error the context is as it was.
  std::function<void(Result<std::span<const float>>)> deliver;
  Session* session;  // must outlive the job
};

struct RunnerOptions {
  // Of the runner's own sessions; none: each job brings its session.
  std::optional<SequenceOptions> session = {};
  uint32_t pool_positions = 0;   // of these sessions together; at least their n_ctx is used
  uint32_t n_parallel = 4;       // the most answers in these sessions at a time
  uint32_t n_joint = 8;          // the most answers that are computed in one pass
  PromptCache* cache = nullptr;  // must outlive the runner; null: none
  // How long a batch of a prompt may take, because nothing is noticed until it ends; 0: any time.
  double batch_seconds = 0;
};

// What a runner has to do, and what it has done so far.
struct RunnerState {
  size_t n_running = 0;        // answers
  size_t n_waiting = 0;        // answers that are not begun yet
  size_t n_idle_sessions = 0;  // kept for later prompts that begin alike
  uint32_t n_pages = 0;
  uint32_t n_pages_used = 0;
  uint64_t n_passes = 0;   // passes through the model that computed sampled tokens
  uint64_t n_decoded = 0;  // … and the number of tokens that they computed
};

class Runner {
 public:
  // The model and the pool must outlive the runner. Nothing else may use the pool while it
  // advances. Errors: out_of_memory; those of Session::create.
  static Result<std::unique_ptr<Runner>> create(const LanguageModel& loaded, ThreadPool& pool,
                                                const RunnerOptions& options);

  // An answer in the runner's sessions begins when there are enough pages for its greatest length,
  // so that it cannot run out of pages later; all others begin at once. Whoever no longer waits for
  // a job requests its cancellation.
  void submit(AnswerJob job);
  void submit(AppendJob job);
  void submit(EncodingJob job) { encoding_.submit(std::move(job)); }

  // Ends what is computed for this session, and delivers the last event of an answer.
  void cancel(const Session& session);

  bool is_busy() const {
    return !running_.empty() || !appending_.empty() || !waiting_.empty() || encoding_.is_busy();
  }

  // The cache of its options, or null.
  PromptCache* cache() const { return options_.cache; }

  // Computes rounds, at least one, until `at_most` has passed or nothing is left to do.
  void advance(std::chrono::duration<double> at_most = {});

  // Ends all jobs with `error`.
  void abandon(const Error& error);

  RunnerState state() const;

 private:
  struct Running {
    explicit Running(AnswerJob given) : job(std::move(given)) {}

    AnswerJob job;
    std::unique_ptr<Session> own = nullptr;  // the session, if it is one of the runner's
    std::optional<Answer> answer = {};
    std::optional<BatchPace> pace = {};  // of the prompt
    uint32_t n_pages = 0;                // the most that the answer can use
    bool is_over = false;

    Session& session() { return *job.session; }
  };

  struct Appending {
    Appending(AppendJob given, BatchPace its_pace) : job(std::move(given)), pace(its_pace) {}

    AppendJob job;
    BatchPace pace;
    bool is_over = false;
  };

  Runner(const LanguageModel& loaded, ThreadPool& pool, const RunnerOptions& options)
      : loaded_(loaded),
        pool_(pool),
        options_(options),
        encoding_(loaded.model, pool, options.batch_seconds) {}

  void run_round();
  void forget_what_is_over();
  void begin_waiting();
  bool can_begin(const AnswerJob& job) const;
  uint32_t pages_for(const AnswerJob& job) const;
  void begin(AnswerJob job);
  Status start(Running& running);
  void make_room();
  void decode_jointly();
  void step(Running& running);
  void append(Appending& appending);
  void finish(Running& running, Result<AnswerEvent> event);

  const LanguageModel& loaded_;
  ThreadPool& pool_;
  const RunnerOptions options_;
  std::optional<SessionPool> sessions_;
  std::optional<JointDecoding> joint_decoding_;  // made when it is first needed
  bool has_tried_joint_ = false;                 // it was made, or cannot be
  EncodingRun encoding_;
  std::deque<AnswerJob> waiting_;
  std::vector<std::unique_ptr<Running>> running_;
  std::vector<std::unique_ptr<Appending>> appending_;
  uint64_t n_passes_ = 0;
  uint64_t n_decoded_ = 0;
};

}  // namespace kinglet
