// A session is one context of a model: its tokens and pictures, the state that the layers keep for
// them, scratch memory, and the calls that append to it.
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

// Models are trained for up to a million positions; so much memory is only taken on request.
constexpr uint32_t kDefaultMaxCtx = 4096;

struct SessionOptions {
  uint32_t n_ctx = 0;  // positions in the KV cache; 0: the model's, at most kDefaultMaxCtx
  // Tokens that one step computes together; longer appends are cut into batches. A picture whose
  // rows see each other is always one batch: batches grow with the first picture that is larger.
  uint32_t n_batch = 64;
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
  uint32_t page_positions = 0;  // positions per page; 0, or n_ctx and more: the cache is one piece
  uint32_t pool_positions = 0;  // in all pages of a session and its forks; at least n_ctx
  bool keeps_all_rows = false;  // also for layers with a window, as a cache of pages does
};

// How begin() treats its tokens.
struct AppendOptions {
  Output output = Output::logits;
  // They are the whole new context: the longest common prefix with the old one stays, without
  // being computed again, and the rest of the old one is dropped.
  bool replaces_context = false;
  Cancellation cancellation = {};
  // The pictures whose image_tokens() are among the tokens. Two kinds may be left out: pictures
  // whose rows are computed and stay, and pictures that the session holds at any position.
  std::span<const SharedImage> images = {};
};

// Positions between the checkpoints within a long prompt, about.
constexpr uint32_t kCheckpointInterval = 512;

// A good page: small enough to waste little, large enough for attention to run well over it.
constexpr uint32_t kDefaultPagePositions = 32;

// Pages that sessions of a model share: `n_positions` in all, `page_positions` in each page.
Result<std::shared_ptr<KvStore>> make_kv_store(const Model& model, uint32_t n_positions,
                                               uint32_t page_positions, KvKind k_kind,
                                               KvKind v_kind);

// The bytes of memory that a session takes.
struct SessionBytes {
  uint32_t n_ctx = 0;  // positions
  uint64_t kv = 0;
  uint64_t recurrent = 0;
  uint64_t scratch = 0;

  uint64_t sum() const { return kv + recurrent + scratch; }
};

class Session {
 public:
  // What create() would allocate, for a pool of n_threads. Errors: those of create(), but for
  // out_of_memory.
  static Result<SessionBytes> bytes_of(const Model& model, size_t n_threads,
                                       const SessionOptions& options);

  // Allocates all memory that the session needs. `model` and `pool` must outlive it.
  // ErrorCode::invalid_argument (a batch of 0, a context longer than the model's), missing_tensor
  // (a model without weights), unsupported_feature (a model that makes vectors or scores but no
  // text), out_of_memory.
  static Result<std::unique_ptr<Session>> create(const Model& model, ThreadPool& pool,
                                                 const SessionOptions& options);

  // The same with a cache in `store`, whose kinds and pages override those in the options.
  static Result<std::unique_ptr<Session>> create_in(std::shared_ptr<KvStore> store,
                                                    const Model& model, ThreadPool& pool,
                                                    const SessionOptions& options);

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

  // The same with the rows of a picture. ErrorCode: those of append() and of check_image().
  Status append_image(const SharedImage& image, Output output = Output::logits,
                      const Cancellation& cancellation = {});

  // Begins the same without computing: advance() computes one batch at a time, so that the caller
  // can stop between batches. An unfinished earlier append is abandoned. Errors: those of append()
  // and of check_image(); invalid_argument (rows of a picture that is neither given nor held).
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
    return n_left() == 1 && !appending_.has_value() && guesses_.tokens.empty() && images_.empty();
  }

  // Computes the last token of each session in one pass through the model. logits() of each are
  // then those after its last token, the same as if it had been computed alone. The sessions must
  // be different and share one model, context size and pool; `scratch` has a row of logits for
  // each. ErrorCode::not_finite; those of forward_together(). After an error nothing has changed.
  static Status compute_together(std::span<Session* const> sessions, Scratch& scratch);

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
  std::span<float> logits() {
    const size_t n = model_.config().vocab_size;
    return {scratch_.logits + guesses_.n_taken * n, n};
  }

  // Drops every position from n_positions on. If layers have a recurrent state, or a window and
  // n_positions is more than kWindowSpare back, the next append computes the tokens after the last
  // checkpoint again. ErrorCode::invalid_argument past the end.
  Status truncate(uint32_t n_positions);

  // If layers have a recurrent state or a window, keeps a checkpoint here: a position to which
  // truncate() can go back without computing anything again. kv/recurrent_state.h and kv/kv_plan.h
  // limit their number.
  void add_checkpoint() { state_.add_checkpoint(); }

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

  // Replaces the context by these tokens and the pictures among them. The caller then writes the
  // keys and values of the first n_computed tokens through state(), see SequenceState::overwrite().
  // `recurrent` has the bytes of the recurrent state after these. The next append computes the
  // other tokens. ErrorCode::context_full, out_of_memory; nothing has changed then.
  Status overwrite(std::span<const TokenId> tokens, std::vector<PlacedImage> images,
                   uint32_t n_computed, uint32_t n_spare, std::span<const std::byte> recurrent);

  // The tokens of all positions; negative for rows of pictures, see image_tokens().
  std::span<const TokenId> tokens() const { return tokens_; }

  // The pictures. A picture's rows are kept as long as the context contains some of them, so that
  // they can be computed again like tokens.
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

  // The append that advance() continues.
  struct Appending {
    Output output;
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
  std::vector<TokenId> tokens_;  // [n_positions], with room for n_ctx; state_ may have fewer
  std::vector<PlacedImage> images_;
  std::optional<Appending> appending_;
  Guesses guesses_;  // room for those of a step
};

}  // namespace kinglet
