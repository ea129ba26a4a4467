// A session is one context of a model: its tokens and pictures, and the calls that append to it.
// What is computed for them is in a Sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/kv_store.h"
#include "model/images.h"
#include "model/model.h"
#include "model/sequence.h"
#include "session/context_images.h"
#include "text/vocabulary.h"

namespace kinglet {

// How begin() treats its tokens.
struct AppendOptions {
  Output output = Output::logits;
  // They are the whole new context: the longest common prefix with the old one stays, without
  // being computed again, and the rest of the old one is dropped.
  bool replaces_context = false;
  // Compute the logits after every token: see batch_logits(). No prefix stays, because the logits
  // after its tokens are not kept.
  bool all_logits = false;
  Cancellation cancellation = {};
  // The pictures whose image_tokens() are among the tokens. Two kinds may be left out: pictures
  // whose rows are computed and stay, and pictures that the session holds at any position.
  std::span<const SharedImage> images = {};
};

// Positions between the checkpoints within a long prompt, about.
constexpr uint32_t kCheckpointInterval = 512;

// How many tokens two lists begin with alike.
uint32_t count_common(std::span<const TokenId> a, std::span<const TokenId> b);

class Session {
 public:
  explicit Session(std::unique_ptr<Sequence> sequence);

  // A session that the pool computes, see CpuSequence: with a store of its own, or in `store`.
  static Result<std::unique_ptr<Session>> create(const Model& model, ThreadPool& pool,
                                                 const SequenceOptions& options);
  static Result<std::unique_ptr<Session>> create_in(std::shared_ptr<KvStore> store,
                                                    const Model& model, ThreadPool& pool,
                                                    const SequenceOptions& options);

  // A session with the same context; its logits are undefined until it appends. Pages are shared;
  // a cache in one piece is copied. ErrorCode::out_of_memory.
  Result<std::unique_ptr<Session>> fork() const;

  // Appends tokens to the context in batches, and computes the requested output; other outputs are
  // undefined. After an error the context is as it was before.
  // ErrorCode::context_full; cancelled; invalid_argument (no tokens, an id outside the vocabulary,
  // or hidden states, which only an Encoder makes); not_finite (the output contains NaN or
  // infinity: the weights are damaged).
  Status append(std::span<const TokenId> tokens, Output output = Output::logits,
                const Cancellation& cancellation = {});

  // Begins the same without computing: advance() computes one batch at a time, so that the caller
  // can stop between batches. An unfinished earlier append is abandoned. Errors: those of append()
  // and of check_image(); invalid_argument (rows of a picture that is neither given nor held);
  // unsupported_feature (all logits of a context with pictures).
  Status begin(std::span<const TokenId> tokens, const AppendOptions& options);

  // Begins to compute the logits after the last token: from the tokens that are not computed yet,
  // or else from the last token again. ErrorCode::invalid_argument for an empty context;
  // out_of_memory if the last token's page is shared and cannot be copied (nothing has changed).
  Status begin_logits(const Cancellation& cancellation = {});

  // Computes the next batch of what was begun: at most max_batch > 0 tokens, or all rows of a
  // picture whose rows see each other. An error abandons what was begun. Errors: those of append(),
  // and out_of_memory if batches cannot grow to a picture.
  Status advance(uint32_t max_batch = UINT32_MAX);

  // Whether compute_together() can take this session: exactly one token is not computed, nothing
  // was begun, there are no guesses, and the context has no pictures.
  bool can_join() const {
    return n_left() == 1 && !appending_.has_value() && guesses_.tokens.empty() &&
           images_.is_empty();
  }

  // Computes the last token of each session in one pass through the model. logits() of each are
  // then those after its last token, the same as if it had been computed alone. Errors: not_finite;
  // those of JointPass::run(), which says what the sessions must have in common. After an error
  // nothing has changed.
  static Status compute_together(std::span<Session* const> sessions, JointPass& pass);

  // Computes the tokens that are left (at most a batch) and, in the same step, the first
  // n_guesses_room() of `guesses`: tokens that may follow, but are not part of the context.
  // logits() are then those after the context's last token. Errors: those of append(), after which
  // the same tokens are left.
  Status look_ahead(std::span<const TokenId> guesses, const Cancellation& cancellation = {});

  // Compares the next guess with the token that was deferred after look_ahead(), and returns
  // whether they are the same. Then the token is already computed, and logits() are those after it.
  // Otherwise all guesses are dropped. ErrorCode::not_finite.
  Result<bool> take_guess();

  // Drops the guesses. A recurrent state is the one after all of them, so in models that have one
  // the taken guesses are computed again. Errors: those of append(), after which these tokens are
  // left to compute.
  Status settle();

  // The number of guesses that fit into a step: limited by the context, the n_logit_rows of a
  // batch, and the last page.
  uint32_t n_guesses_room() const;

  // Undoes an unfinished append. If it replaces the context, the batches that are complete stay.
  // Without an unfinished append it changes nothing.
  Status abandon();

  // Appends a token without computing it. The next append computes it with its own tokens, which
  // costs little more than those alone. ErrorCode::context_full.
  Status defer(TokenId token);

  // Logits [vocab_size] after the last appended token, until the next append.
  std::span<float> logits() { return sequence_->logits(last_row_ + guesses_.n_taken); }

  // After advance() with all_logits: the logits [vocab_size] after token i of the batch that it
  // computed, whose last token is the last computed one.
  std::span<float> batch_logits(uint32_t i) { return sequence_->logits(i); }

  // Drops every position from n_positions on. If layers have a recurrent state, or a window and
  // n_positions is more than kWindowSpare back, the next append computes the tokens after the last
  // checkpoint again. ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions);

  // If layers have a recurrent state or a window, keeps a checkpoint here: a position to which
  // truncate() can go back without computing anything again. kv/recurrent_state.h and kv/kv_plan.h
  // limit their number.
  void add_checkpoint() { sequence_->state().add_checkpoint(); }

  // Keeps the longest computed prefix that the context shares with `tokens`, drops the rest, and
  // returns its length: always less than the number of tokens, so that the last one is computed.
  // Every id is compared.
  uint32_t keep_prefix(std::span<const TokenId> tokens);

  // How many positions keep_prefix() would keep.
  uint32_t common_prefix(std::span<const TokenId> tokens) const;

  // Drops n_dropped positions after the first n_kept, and moves the later ones down: their keys are
  // rotated to the new positions. Keys of a lossy kind are rounded once more. If a part of a
  // picture is dropped, its remaining rows are dropped, too. ErrorCode::invalid_argument past the
  // computed positions; unsupported_feature if positions are not rotations, layers have a recurrent
  // state, or pictures have lines and columns (M-RoPE).
  Status shift(uint32_t n_kept, uint32_t n_dropped);

  // Replaces the context by what was saved: these tokens and the pictures among them, and the rows
  // and the recurrent state of those that were computed, see StoredState::restore(). The next
  // append computes the other tokens. ErrorCode::context_full, out_of_memory; nothing has changed
  // then.
  Status restore(std::span<const TokenId> tokens, std::vector<PlacedImage> images,
                 const SavedRows& saved, std::span<const std::byte> rows,
                 std::span<const std::byte> recurrent);

  // The tokens of all positions; negative for rows of pictures, see image_tokens().
  std::span<const TokenId> tokens() const { return tokens_; }

  PlacedImages images() const { return images_.placed(); }

  const Model& model() const { return sequence_->model(); }
  uint32_t n_positions() const { return static_cast<uint32_t>(tokens_.size()); }
  uint32_t n_computed() const { return sequence_->state().size(); }  // the first ones
  uint32_t n_left() const { return n_positions() - n_computed(); }
  uint32_t n_ctx() const { return sequence_->state().capacity(); }
  uint32_t n_batch() const { return sequence_->n_batch(); }
  SequenceBytes bytes() const { return sequence_->bytes(); }
  const Sequence& sequence() const { return *sequence_; }

 private:
  // The append that advance() continues.
  struct Appending {
    Output output;
    bool all_logits;
    Cancellation cancellation;
    uint32_t n_before;   // the number of positions to which abandon() goes back
    bool keeps_batches;  // n_before moves along with each computed batch
  };

  // Tokens that were computed ahead.
  struct Guesses {
    std::vector<TokenId> tokens;
    uint32_t first = 0;    // position of the first of them
    uint32_t n_taken = 0;  // how many are part of the context by now

    bool is_taken() const { return n_taken == tokens.size(); }
  };

  bool has_recurrent_state() const { return model().state_shape().n_recurrent > 0; }
  uint32_t place_before(uint32_t n_positions) const;
  uint32_t image_checkpoint() const;
  void end_appending();
  void forget_guesses();
  Status compute(uint32_t n, const StepOptions& options);
  Status compute_batch(uint32_t max_batch);
  Status commit_guesses(uint32_t n);
  Status check_finite(uint32_t n_before);
  Status check_finite(std::span<const float> logits, uint32_t n_before) const;

  std::unique_ptr<Sequence> sequence_;
  std::vector<TokenId> tokens_;  // [n_positions], with room for n_ctx; sequence_ may have fewer
  ContextImages images_;
  std::optional<Appending> appending_;
  uint32_t last_row_ = 0;  // of the logits: the one after the last token that is not a guess
  Guesses guesses_;        // room for those of a step
};

}  // namespace kinglet
