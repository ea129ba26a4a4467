// Sessions of the engine. engine.d.ts describes what is bound here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/images.h"
#include "session/generation.h"
#include "session/joint_decoding.h"
#include "session/language_model.h"
#include "session/session.h"
#include "wasm/answer.h"
#include "wasm/values.h"

namespace kinglet {

class EngineSession;

// { k, v }: the names of the kinds in which keys and values are stored.
val to_js_kinds(const SequenceBytes& sequence);

// All sessions of a model: they decode jointly.
struct ModelSessions {
  std::vector<EngineSession*> all;
  std::optional<JointDecoding> joint_decoding;
  bool is_tried = false;  // whether joint_decoding was made, or cannot be
};

// Sessions share the model and keep it alive, even when JavaScript deletes it first.
class EngineSession {
 public:
  EngineSession(std::shared_ptr<const LanguageModel> loaded,
                std::shared_ptr<ModelSessions> siblings, std::unique_ptr<Session> session)
      : loaded_(std::move(loaded)), siblings_(std::move(siblings)), session_(std::move(session)) {
    siblings_->all.push_back(this);
  }
  ~EngineSession() { std::erase(siblings_->all, this); }
  EngineSession(const EngineSession&) = delete;
  EngineSession& operator=(const EngineSession&) = delete;

  val start(const val& prompt, const std::shared_ptr<EngineAnswer>& answer, const val& options);

  val step(double max_batch);

  val cancel();

  val begin(const val& tokens, double id);

  uint32_t give_image(const val& image);

  val held_images() const;

  // The last batch also returns the logits.
  val advance(double max_batch);

  val save() const;

  // Copies the bytes once, into memory that is freed afterwards.
  val restore(const val& bytes);

  val fork() const;

  val tokens() const;

  val truncate(double n_positions);

  uint32_t keep_prefix(const val& tokens);

  uint32_t common_prefix(const val& tokens) const {
    return session_->common_prefix(to_ids(tokens));
  }

  uint32_t n_positions() const { return session_->n_positions(); }
  uint32_t n_ctx() const { return session_->n_ctx(); }
  uint32_t n_batch() const { return session_->n_batch(); }
  val kv_kinds() const { return to_js_kinds(session_->bytes()); }
  double kv_bytes() const { return to_number(session_->bytes().kv); }
  double recurrent_bytes() const { return to_number(session_->bytes().recurrent); }

  val kv_pages() const;

  double scratch_bytes() const { return to_number(session_->bytes().scratch); }

  // The rest is for C++.

  // Begins a generation. Returns how many of the prompt's tokens were found in the context.
  Result<uint32_t> begin_generation(const std::vector<TokenId>& prompt,
                                    const GenerationOptions& options);

  // Computes the next step of the generation.
  Result<GenerationStep> next_step(double max_batch);

 private:
  void decode_jointly();

  std::shared_ptr<const LanguageModel> loaded_;
  std::shared_ptr<ModelSessions> siblings_;
  std::unique_ptr<Session> session_;
  std::optional<Generation> generation_;
  std::shared_ptr<EngineAnswer> answer_;  // of the generation; null: the caller reads its steps
  std::vector<SharedImage> images_;       // for the next start() or begin()
};

// Returns a picture's rows from an EngineImageRows.
SharedImage to_image(const val& fields);

// Reads EngineSessionOptions.
Result<SequenceOptions> to_session_options(const val& fields);

// Returns an EngineSession, or an error.
val new_session(std::shared_ptr<const LanguageModel> loaded,
                std::shared_ptr<ModelSessions> siblings, const val& options);

}  // namespace kinglet
