// A conversation with a model: its tokens and pictures, what the layers keep of them, scratch
// memory, and the step that grows them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/sequence_state.h"
#include "model/forward.h"
#include "model/images.h"
#include "model/model.h"
#include "model/scratch.h"
#include "text/vocabulary.h"

namespace kinglet {

// Models are trained for up to a million positions; memory for them is only taken when asked for.
constexpr uint32_t kDefaultMaxCtx = 4096;

struct SessionOptions {
  uint32_t n_ctx = 0;  // positions in the KV cache; 0: the model's, at most kDefaultMaxCtx
  // Tokens that a step computes together; more are cut into batches. A picture whose rows see each
  // other is one batch: with the first that is larger, batches grow to it.
  uint32_t n_batch = 64;
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
  uint32_t page_positions = 0;  // of a paged KV cache; 0 or n_ctx and more: it is in one piece
  uint32_t pool_positions = 0;  // that the pages of a session and its forks hold; n_ctx at least
  bool keeps_all_rows = false;  // of layers with a window too, as a cache of pages does
};

// What begin() is to do with its tokens.
struct AppendOptions {
  Output output = Output::logits;
  // They are the whole context: what does not begin as they do is forgotten, and what is known of
  // them is not computed again.
  bool replaces_context = false;
  Cancellation cancellation = {};
  // Pictures whose image_tokens() are among the tokens. Not needed are those whose rows are all
  // computed and stay, and those that the session holds already, wherever they are.
  std::span<const SharedImage> images = {};
};

// Long prompts leave a checkpoint about every so many positions.
constexpr uint32_t kCheckpointInterval = 512;

// A good page: small enough to waste little, large enough for attention to run well over it.
constexpr uint32_t kDefaultPagePositions = 32;

// Pages that sessions of a model share: `n_positions` in all, each in a page of page_positions.
Result<std::shared_ptr<KvStore>> make_kv_store(const Model& model, uint32_t n_positions,
                                               uint32_t page_positions, KvKind k_kind,
                                               KvKind v_kind);

class Session {
 public:
  // `model` and `pool` must outlive the session. Everything is allocated here.
  // ErrorCode::invalid_argument (a batch of 0, a context beyond the model's), missing_tensor (a
  // model without weights), unsupported_feature (one that makes vectors or scores, and no text),
  // out_of_memory.
  static Result<std::unique_ptr<Session>> create(const Model& model, ThreadPool& pool,
                                                 const SessionOptions& options);

  // With a cache in `store`, whose kinds and pages count instead of those in the options.
  static Result<std::unique_ptr<Session>> create_in(std::shared_ptr<KvStore> store,
                                                    const Model& model, ThreadPool& pool,
                                                    const SessionOptions& options);

  // A session that begins with the same tokens; its logits are undefined until it appends. Pages
  // are shared, a cache in one piece is copied. ErrorCode::out_of_memory.
  Result<std::unique_ptr<Session>> fork() const;

  // Appends tokens to the context, in batches, and computes what is asked for; the rest is left
  // undefined. On an error the context is as it was.
  // ErrorCode::context_full; cancelled; invalid_argument (no tokens, an id outside the vocabulary,
  // or hidden states, which an Encoder makes); not_finite (the output holds NaN or infinity: the
  // weights are damaged).
  Status append(std::span<const TokenId> tokens, Output output = Output::logits,
                const Cancellation& cancellation = {});

  // The same with the rows of a picture. ErrorCode: those of append() and of check_image() too.
  Status append_image(const SharedImage& image, Output output = Output::logits,
                      const Cancellation& cancellation = {});

  // The same, to be computed by advance(), so that the caller can stop between two batches. What
  // was begun before and has not come to its end is abandoned. Errors: those of append(), and of
  // check_image(); invalid_argument (rows of a picture that is neither given nor held).
  Status begin(std::span<const TokenId> tokens, const AppendOptions& options);

  // Begins what gives the logits after the last token: the tokens that are left to compute, or
  // else the last one again. ErrorCode::invalid_argument without positions; out_of_memory where its
  // page is shared and cannot be copied, which changes nothing.
  Status begin_logits(const Cancellation& cancellation = {});

  // Computes the next batch of what was begun: at most max_batch > 0 tokens, or all rows of a
  // picture that see each other. An error abandons what was begun; they are those of append(), and
  // out_of_memory where batches cannot grow to a picture.
  Status advance(uint32_t max_batch = UINT32_MAX);

  // Whether compute_together() can take this one: a single token is left, nothing was begun, and
  // nothing is known of what follows it, and no pictures are in its context.
  bool can_join() const {
    return n_left() == 1 && !appending_.has_value() && guesses_.tokens.empty() && images_.empty();
  }

  // Computes the token that is left of each session, in one pass through the model: logits() of
  // each are then those after its last token, the same as alone. All are of one model, context and
  // pool, and different; `scratch` has a row of logits for each. ErrorCode::not_finite; those of
  // forward_together(). After an error nothing has changed.
  static Status compute_together(std::span<Session* const> sessions, Scratch& scratch);

  // Computes what is left, of at most a batch, and in the same step the first
  // n_guesses_room() of `guesses`, tokens that may follow: the context does not hold them. logits()
  // are then those after its last token. Errors: those of append(); what was left is still left
  // then.
  Status look_ahead(std::span<const TokenId> guesses, const Cancellation& cancellation = {});

  // Whether the one token that was deferred since is the next of those guesses: then logits() are
  // now those after it, as if it had been computed on its own. Else the guesses are forgotten.
  // ErrorCode::not_finite.
  Result<bool> take_guess();

  // Forgets guesses. Where layers keep a recurrent state, which is that after all of them, those
  // that were taken are computed again. Errors: those of append(), which leave them to be computed.
  Status settle();

  // How many guesses a step has room for: in the context, a batch of n_logit_rows, and the last
  // page.
  uint32_t n_guesses_room() const;

  // Takes back what was begun and has not come to its end, but for whole batches of tokens that
  // replace the context. Where there is nothing of the kind it changes nothing.
  Status abandon();

  // Appends a token without computing it: the next one to append tokens computes it with them,
  // which costs little more than they do alone. ErrorCode::context_full.
  Status defer(TokenId token);

  // Logits [vocab_size] after the last appended token, until the next append.
  std::span<float> logits() {
    const size_t n = model_.config().vocab_size;
    return {scratch_.logits + guesses_.n_taken * n, n};
  }

  // Forgets every position from n_positions on. Where layers keep a recurrent state, or a window
  // and n_positions lies more than kWindowSpare back, the tokens after the last checkpoint are
  // computed again by the next append. ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions);

  // Keeps a checkpoint here where layers have a recurrent state or a window: a place to which
  // truncate() goes back without computing anything again. How many are kept: see
  // kv/recurrent_state.h and kv/kv_plan.h.
  void keep_checkpoint() { state_.keep(); }

  // Forgets what is not the beginning of `tokens` too, or is not computed, and gives the number of
  // positions that stay: fewer than there are tokens, so that the last one is computed. Every id is
  // compared.
  uint32_t keep_prefix(std::span<const TokenId> tokens);

  // How many positions keep_prefix() would keep.
  uint32_t n_kept_of(std::span<const TokenId> tokens) const;

  // Drops n_dropped positions after the first n_kept and moves the later ones down, their keys
  // rotated to the new positions. Keys of a kind that rounds are rounded once more. Of a picture of
  // which a part is dropped, all that follows is dropped too.
  // ErrorCode::invalid_argument past what is computed; unsupported_feature where positions are not
  // rotations, layers keep a recurrent state, or the lines and columns of pictures are counted.
  Status shift(uint32_t n_kept, uint32_t n_dropped);

  // Makes these the tokens of the context, with these pictures among them. The caller is to write
  // the keys and values of the first n_computed of them through state(), see
  // SequenceState::overwrite(); the bytes of the recurrent state after those are given, and the
  // other tokens are computed by the next append. ErrorCode::context_full, out_of_memory; nothing
  // has changed then.
  Status overwrite(std::span<const TokenId> tokens, std::vector<PlacedImage> images,
                   uint32_t n_computed, uint32_t n_spare, std::span<const std::byte> recurrent);

  // The tokens of all positions; negative where rows of pictures stand, see image_tokens().
  std::span<const TokenId> tokens() const { return tokens_; }

  // The pictures. Their rows are held as long as the context has some of them, so that they can be
  // computed again wherever tokens can.
  PlacedImages images() const { return images_; }

  const Model& model() const { return model_; }
  uint32_t n_positions() const { return static_cast<uint32_t>(tokens_.size()); }
  uint32_t n_left() const { return n_positions() - state_.size(); }  // not computed yet
  uint32_t n_ctx() const { return state_.capacity(); }
  uint32_t n_batch() const { return scratch_.n_batch; }
  SequenceState& state() { return state_; }
  const SequenceState& state() const { return state_; }
  const KvStore& kv_store() const { return state_.rows().store(); }  // see SequenceState::rows()
  uint64_t kv_bytes() const { return state_.kv_bytes(); }
  uint64_t recurrent_bytes() const { return state_.recurrent().bytes(); }
  uint64_t scratch_bytes() const { return scratch_.bytes(); }

 private:
  Session(const Model& model, ThreadPool& pool, SequenceState state, Scratch scratch);

  static Result<std::unique_ptr<Session>> create_with(SequenceState state, const Model& model,
                                                      ThreadPool& pool, uint32_t n_batch);

  // Tokens that advance() computes.
  struct Appending {
    Output output;
    Cancellation cancellation;
    uint32_t n_before;   // positions that abandon() goes back to
    bool keeps_batches;  // n_before follows what has been computed
  };

  // Tokens that were computed ahead.
  struct Guesses {
    std::vector<TokenId> tokens;
    uint32_t first = 0;    // position of the first of them
    uint32_t n_taken = 0;  // that the context holds by now

    bool is_taken() const { return n_taken == tokens.size(); }
  };

  Status place_images(std::span<const TokenId> tokens, uint32_t first,
                      std::span<const SharedImage> given, std::vector<PlacedImage>& placed) const;
  SharedImage find_image(TokenId first_token, std::span<const SharedImage> given) const;
  Status check_images(PlacedImages images, uint32_t n_computed) const;
  void cut_images(uint32_t n_positions);
  uint32_t place_before(uint32_t n_positions) const;
  uint32_t n_next(uint32_t most) const;
  uint32_t image_checkpoint() const;
  void end_appending();
  void forget_guesses();
  Status compute_batch(uint32_t max_batch);
  Status commit_guesses(uint32_t n);
  Status check_finite(std::span<const float> output, uint32_t n_before) const;

  const Model& model_;
  ThreadPool& pool_;
  SequenceState state_;
  Scratch scratch_;
  std::vector<TokenId> tokens_;  // [n_positions], with room for n_ctx; state_ may be behind
  std::vector<PlacedImage> images_;
  std::optional<Appending> appending_;
  Guesses guesses_;  // room for those of a step
};

}  // namespace kinglet
