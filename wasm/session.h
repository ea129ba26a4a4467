// Sessions of the engine. engine.d.ts describes what is bound here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "answers/runner.h"
#include "base/aligned_buffer.h"
#include "base/result.h"
#include "model/images.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/session.h"
#include "wasm/answer.h"
#include "wasm/prompt.h"
#include "wasm/values.h"

namespace kinglet {

// { k, v }: the names of the kinds in which keys and values are stored.
val to_js_kinds(KvKind k_kind, KvKind v_kind);

// Sessions share the model and keep it alive, even when JavaScript deletes it first.
class EngineSession {
 public:
  EngineSession(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
                std::unique_ptr<Session> session)
      : loaded_(std::move(loaded)), runner_(std::move(runner)), session_(std::move(session)) {}
  ~EngineSession() { runner_->cancel(*session_); }
  EngineSession(const EngineSession&) = delete;
  EngineSession& operator=(const EngineSession&) = delete;

  void start(const std::shared_ptr<EngineAnswer>& answer, const val& options, const val& on_event);

  void append(const val& tokens, double id, const val& on_logits);

  void cancel() { runner_->cancel(*session_); }

  val give_image(const val& image);

  val missing_pictures(const std::shared_ptr<EngineAnswer>& answer) const;

  val save() const;

  // Returns where JavaScript writes the bytes of a state that restore() reads.
  val reserve_state(double n_bytes);
  val restore();

  // The stored state that the answer's prompt begins with, and that saves more than the context
  // does: an EngineStoredPrompt, or undefined.
  val stored_prompt(const std::shared_ptr<EngineAnswer>& answer) const;

  val fork() const;

  val tokens() const;

  val truncate(double n_positions);

  uint32_t keep_prefix(const val& tokens);

  uint32_t n_positions() const { return session_->n_positions(); }
  uint32_t n_ctx() const { return session_->n_ctx(); }
  uint32_t n_batch() const { return session_->n_batch(); }
  val kv_kinds() const { return to_js_kinds(session_->bytes().k_kind, session_->bytes().v_kind); }
  double kv_bytes() const { return to_number(session_->bytes().kv); }
  double recurrent_bytes() const { return to_number(session_->bytes().recurrent); }

  val kv_pages() const;

  double scratch_bytes() const { return to_number(session_->bytes().scratch); }

  // The rest is for C++.

  val stored_prompt(const std::vector<TokenId>& prompt) const;

  // Writes an answer in this session. The job's images are those that were given.
  void submit(AnswerJob job);

  // The pictures whose rows must be given before a prompt of these tokens, by their index.
  std::vector<uint32_t> missing(const std::vector<TokenId>& prompt,
                                const PartsOfPictures& pictures) const;

 private:
  std::shared_ptr<const LanguageModel> loaded_;
  std::shared_ptr<Runner> runner_;
  std::unique_ptr<Session> session_;
  std::vector<SharedImage> images_;  // for the next start() or append()
  AlignedBuffer state_;              // for the next restore()
};

// Returns a picture's rows from an EngineImageRows.
SharedImage to_image(const val& fields);

// Reads EngineSessionOptions.
Result<SequenceOptions> to_session_options(const val& fields);

// Returns an EngineSession, or an error.
val new_session(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
                const val& options);

}  // namespace kinglet
