#include "session/session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/checked.h"
#include "base/format.h"
#include "model/shift.h"

namespace kinglet {

namespace {

Result<uint32_t> context_of(const Model& model, const SessionOptions& options) {
  KINGLET_TRY(check_has_weights(model));
  KINGLET_TRY(check_makes_text(model.config()));
  const uint32_t trained = model.config().context_length;
  const uint32_t n_ctx = options.n_ctx == 0 ? std::min(trained, kDefaultMaxCtx) : options.n_ctx;
  if (n_ctx > trained) {
    return Error{ErrorCode::invalid_argument,
                 cat("a context of ", n_ctx, " positions was asked for, the model was trained for ",
                     trained)};
  }
  return n_ctx;
}

Status check_batch(const SessionOptions& options) {
  if (options.n_batch > 0) return {};
  return Error{ErrorCode::invalid_argument,
               "a batch of 0 tokens was asked for, expected 1 or more"};
}

KvStoreConfig store_config(const Model& model, uint32_t n_positions, uint32_t page_positions,
                           KvKind k_kind, KvKind v_kind) {
  return {.rows = model.state_shape().rows,
          .k_kind = k_kind,
          .v_kind = v_kind,
          .page_positions = page_positions,
          .n_pages = page_positions == 0 ? 0 : (n_positions - 1) / page_positions + 1};
}

// The sizes of a session that has stores of its own.
struct Plan {
  uint32_t n_ctx;
  uint32_t n_batch;
  KvPlan kv;
};

Result<Plan> plan_of(const Model& model, const SessionOptions& options) {
  KINGLET_ASSIGN(const uint32_t n_ctx, context_of(model, options));
  KINGLET_TRY(check_batch(options));
  Plan plan{.n_ctx = n_ctx, .n_batch = std::min(options.n_batch, n_ctx), .kv = {}};
  const bool is_paged = options.page_positions > 0 && options.page_positions < n_ctx;
  if (!is_paged && options.pool_positions <= n_ctx && !options.keeps_all_rows) {
    plan.kv =
        plan_windows(model.state_shape().rows, options.k_kind, options.v_kind, n_ctx, plan.n_batch);
    return plan;
  }
  plan.kv = plan_one_store(store_config(model, std::max(n_ctx, options.pool_positions),
                                        is_paged ? options.page_positions : n_ctx, options.k_kind,
                                        options.v_kind));
  return plan;
}

}  // namespace

Result<std::shared_ptr<KvStore>> make_kv_store(const Model& model, uint32_t n_positions,
                                               uint32_t page_positions, KvKind k_kind,
                                               KvKind v_kind) {
  return KvStore::create(store_config(model, n_positions, page_positions, k_kind, v_kind));
}

Result<std::unique_ptr<Session>> Session::create(const Model& model, ThreadPool& pool,
                                                 const SessionOptions& options) {
  KINGLET_ASSIGN(const Plan plan, plan_of(model, options));
  KINGLET_ASSIGN(SequenceState state,
                 SequenceState::create(plan.kv, model.state_shape().n_recurrent, plan.n_ctx));
  return create_with(std::move(state), model, pool, plan.n_batch);
}

Result<SessionBytes> Session::bytes_of(const Model& model, size_t n_threads,
                                       const SessionOptions& options) {
  KINGLET_ASSIGN(const Plan plan, plan_of(model, options));
  return SessionBytes{.n_ctx = plan.n_ctx,
                      .kv = plan.kv.bytes(),
                      .recurrent = recurrent_state_bytes(model.state_shape().n_recurrent),
                      .scratch = Scratch::bytes_of(model, plan.n_batch, n_threads)};
}

Result<std::unique_ptr<Session>> Session::create_in(std::shared_ptr<KvStore> store,
                                                    const Model& model, ThreadPool& pool,
                                                    const SessionOptions& options) {
  KINGLET_ASSIGN(const uint32_t n_ctx, context_of(model, options));
  KINGLET_TRY(check_batch(options));
  KINGLET_ASSIGN(SequenceState state,
                 SequenceState::create(std::move(store), model.state_shape().n_recurrent, n_ctx));
  return create_with(std::move(state), model, pool, std::min(options.n_batch, n_ctx));
}

Result<std::unique_ptr<Session>> Session::create_with(SequenceState state, const Model& model,
                                                      ThreadPool& pool, uint32_t n_batch) {
  KINGLET_ASSIGN(Scratch scratch, Scratch::create(model, n_batch, pool.n_threads()));
  return std::unique_ptr<Session>(new Session(model, pool, std::move(state), std::move(scratch)));
}

Session::Session(const Model& model, ThreadPool& pool, SequenceState state, Scratch scratch)
    : model_(model), pool_(pool), state_(std::move(state)), scratch_(std::move(scratch)) {
  tokens_.reserve(n_ctx());
  guesses_.tokens.reserve(kMostLogitRows);
}

Result<std::unique_ptr<Session>> Session::fork() const {
  KINGLET_ASSIGN(SequenceState state, state_.fork());
  KINGLET_ASSIGN(auto session, create_with(std::move(state), model_, pool_, n_batch()));
  session->tokens_.assign(tokens_.begin(), tokens_.end());
  session->images_ = images_;
  return session;
}

Status Session::truncate(uint32_t n_positions) {
  if (n_positions > tokens_.size()) {
    return Error{
        ErrorCode::invalid_argument,
        cat("cannot truncate to ", n_positions, " positions, the context holds ", tokens_.size())};
  }
  forget_guesses();
  KINGLET_TRY(state_.truncate(place_before(std::min(n_positions, state_.size()))));
  tokens_.resize(n_positions);
  cut_images(n_positions);
  end_appending();
  return {};
}

uint32_t Session::common_prefix(std::span<const TokenId> tokens) const {
  const size_t n_most = std::min(tokens_.size(), tokens.empty() ? 0 : tokens.size() - 1);
  const auto end = tokens_.begin() + static_cast<ptrdiff_t>(n_most);
  const auto n_same = static_cast<uint32_t>(
      std::mismatch(tokens_.begin(), end, tokens.begin()).first - tokens_.begin());
  return place_before(std::min(n_same, state_.size()));
}

uint32_t Session::keep_prefix(std::span<const TokenId> tokens) {
  (void)truncate(common_prefix(tokens));  // cannot fail: never past the end
  return n_positions();
}

Status Session::shift(uint32_t n_kept, uint32_t n_dropped) {
  forget_guesses();
  if (model_.config().rope.has_sections() && !images_.empty()) {
    return Error{ErrorCode::unsupported_feature,
                 "a full context with pictures cannot be shifted: this model counts their lines "
                 "and columns"};
  }
  const bool is_inside = n_kept <= n_positions() && n_dropped <= n_positions() - n_kept;
  const uint32_t rest = is_inside ? n_kept + n_dropped : 0;
  const PlacedImage* cut = n_dropped > 0 ? image_at(images_, rest) : nullptr;
  if (cut != nullptr && cut->first < rest) n_dropped = cut->end() - n_kept;
  KINGLET_TRY(shift_positions(model_, state_, n_kept, n_dropped));
  const auto first = tokens_.begin() + static_cast<ptrdiff_t>(n_kept);
  tokens_.erase(first, first + static_cast<ptrdiff_t>(n_dropped));
  size_t n_images = 0;
  for (PlacedImage& placed : images_) {
    if (placed.first >= n_kept + n_dropped) {
      placed.first -= n_dropped;
    } else {
      placed.n_rows = std::min(placed.end(), std::max(n_kept, placed.first)) - placed.first;
    }
    if (placed.n_rows > 0) std::swap(images_[n_images++], placed);
  }
  while (images_.size() > n_images) images_.pop_back();
  const uint32_t place = place_before(state_.size());
  return place < state_.size() ? state_.truncate(place) : Status();
}

Status Session::overwrite(std::span<const TokenId> tokens, std::vector<PlacedImage> images,
                          uint32_t n_computed, uint32_t n_spare,
                          std::span<const std::byte> recurrent) {
  forget_guesses();
  KINGLET_TRY(state_.overwrite(n_computed, n_spare, recurrent));
  for (PlacedImage& placed : images) {
    placed.image = find_image(image_token(*placed.image, 0), {&placed.image, 1});
  }
  images_ = std::move(images);
  tokens_.assign(tokens.begin(), tokens.end());
  end_appending();
  return {};
}

// --- Pictures -----------------------------------------------------------------------------------

// Returns the picture that begins with this token, among those that are given or held; if possible,
// one that has its rows. Null if there is none.
SharedImage Session::find_image(TokenId first_token, std::span<const SharedImage> given) const {
  SharedImage found;
  const auto look_at = [&](const SharedImage& image) {
    const bool is_better = found == nullptr || (found->rows.empty() && !image->rows.empty());
    if (is_better && image_token(*image, 0) == first_token) found = image;
  };
  for (const SharedImage& image : given) look_at(image);
  for (const PlacedImage& placed : images_) look_at(placed.image);
  return found;
}

// Finds the pictures among tokens whose first position is `first`.
Status Session::place_images(std::span<const TokenId> tokens, uint32_t first,
                             std::span<const SharedImage> given,
                             std::vector<PlacedImage>& placed) const {
  for (size_t i = 0; i < tokens.size();) {
    if (!is_image_token(tokens[i])) {
      ++i;
      continue;
    }
    const auto position = first + static_cast<uint32_t>(i);
    SharedImage image = find_image(tokens[i], given);
    if (image == nullptr) {
      return Error{ErrorCode::invalid_argument,
                   cat("token ", tokens[i], " at position ", position,
                       " is not the first row of a picture that was given")};
    }
    const uint32_t n_rows = n_rows_at(*image, tokens.subspan(i));
    placed.push_back({std::move(image), position, n_rows});
    i += n_rows;
  }
  return {};
}

// Checks that the rows of all pictures after the first n_computed positions are known.
Status Session::check_images(PlacedImages images, uint32_t n_computed) const {
  for (const PlacedImage& placed : images) {
    if (placed.end() <= n_computed || placed.has_rows()) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("the rows of the picture at position ", placed.first,
                     " are to be computed, but were not given")};
  }
  return {};
}

void Session::cut_images(uint32_t n_positions) {
  while (!images_.empty() && images_.back().first >= n_positions) images_.pop_back();
  if (images_.empty()) return;
  PlacedImage& last = images_.back();
  last.n_rows = std::min(last.n_rows, n_positions - last.first);
}

// Returns the last place at or before n_positions to which the state can go back, and that is not
// inside a picture whose rows must be computed together.
uint32_t Session::place_before(uint32_t n_positions) const {
  uint32_t place = state_.reachable(n_positions);
  while (const PlacedImage* placed = image_at(images_, place)) {
    if (!placed->is_torn_at(place)) break;
    place = state_.reachable(placed->first);
  }
  return place;
}

// --- Appending ----------------------------------------------------------------------------------

Status Session::append(std::span<const TokenId> tokens, Output output,
                       const Cancellation& cancellation) {
  KINGLET_TRY(begin(tokens, {.output = output, .cancellation = cancellation}));
  while (appending_) KINGLET_TRY(advance());
  return {};
}

Status Session::append_image(const SharedImage& image, Output output,
                             const Cancellation& cancellation) {
  KINGLET_TRY(begin(image_tokens(*image),
                    {.output = output, .cancellation = cancellation, .images = {&image, 1}}));
  while (appending_) KINGLET_TRY(advance());
  return {};
}

Status Session::begin(std::span<const TokenId> tokens, const AppendOptions& options) {
  KINGLET_TRY(abandon());
  const uint32_t n_old = options.replaces_context ? 0 : n_positions();
  if (tokens.empty()) {
    return Error{ErrorCode::invalid_argument, "there are no tokens to append"};
  }
  if (options.output == Output::hidden) {
    return Error{ErrorCode::invalid_argument, "a session has no hidden states: only encoders do"};
  }
  if (tokens.size() > n_ctx() - n_old) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", n_old, " of ", n_ctx(), " positions, ",
                     tokens.size(), " more do not fit")};
  }
  forget_guesses();
  for (const SharedImage& image : options.images) {
    KINGLET_TRY(check_image(*image, model_.config()));
  }
  std::vector<PlacedImage> images;
  if (!options.replaces_context) images = images_;
  for (PlacedImage& placed : images) {
    placed.image = find_image(image_token(*placed.image, 0), options.images);
  }
  KINGLET_TRY(place_images(tokens, n_old, options.images, images));
  const uint32_t n_kept = options.replaces_context ? common_prefix(tokens) : state_.size();
  KINGLET_TRY(check_images(images, n_kept));
  if (options.replaces_context) tokens = tokens.subspan(keep_prefix(tokens));
  images_ = std::move(images);
  appending_ = {.output = options.output,
                .cancellation = options.cancellation,
                .n_before = n_positions(),
                .keeps_batches = options.replaces_context};
  state_.pin();
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return {};
}

Status Session::begin_logits(const Cancellation& cancellation) {
  KINGLET_TRY(abandon());
  if (tokens_.empty()) {
    return Error{ErrorCode::invalid_argument, "an empty context has no logits"};
  }
  forget_guesses();
  const uint32_t place = n_left() == 0 ? place_before(n_positions() - 1) : state_.size();
  KINGLET_TRY(check_images(images_, place));
  if (n_left() == 0) {
    KINGLET_TRY(state_.unshare(place));  // may fail, so it must come before truncate()
    KINGLET_TRY(state_.truncate(place));
  }
  appending_ = {.output = Output::logits,
                .cancellation = cancellation,
                .n_before = n_positions(),
                .keeps_batches = false};
  return {};
}

Status Session::advance(uint32_t max_batch) {
  if (!appending_) return {};
  Status status = compute_batch(max_batch);
  if (!status.ok()) {
    KINGLET_TRY(abandon());
    return status;
  }
  if (appending_->keeps_batches) appending_->n_before = state_.size();
  if (n_left() == 0) end_appending();
  return {};
}

Status Session::abandon() {
  if (!appending_) return {};
  return truncate(appending_->n_before);
}

Status Session::look_ahead(std::span<const TokenId> guesses, const Cancellation& cancellation) {
  KINGLET_TRY(begin_logits(cancellation));
  guesses = guesses.first(std::min(guesses.size(), size_t{n_guesses_room()}));
  if (guesses.empty()) {
    while (appending_) KINGLET_TRY(advance());
    return {};
  }
  std::vector<TokenId>& ahead = guesses_.tokens;
  ahead.assign(guesses.begin(), guesses.end());
  guesses_.first = n_positions();
  const uint32_t n = n_left();
  tokens_.insert(tokens_.end(), ahead.begin(), ahead.end());
  const auto batch = std::span<const TokenId>(tokens_).subspan(state_.size());
  Status status = forward(model_, pool_, scratch_, state_, batch, Output::logits, cancellation,
                          ahead.size(), images_);
  tokens_.resize(guesses_.first);
  if (status.ok()) status = commit_guesses(n);
  if (status.ok()) status = check_finite(logits(), n_positions());
  if (!status.ok()) forget_guesses();
  end_appending();
  return status;
}

Result<bool> Session::take_guess() {
  const uint32_t next = guesses_.first + guesses_.n_taken;
  if (guesses_.is_taken() || n_positions() != next + 1 ||
      tokens_.back() != guesses_.tokens[guesses_.n_taken]) {
    forget_guesses();
    return false;
  }
  ++guesses_.n_taken;
  KINGLET_TRY(commit_guesses(1));
  KINGLET_TRY(check_finite(logits(), n_positions()));
  return true;
}

Status Session::settle() {
  const uint32_t n_computed = guesses_.first + guesses_.n_taken;
  const bool is_behind = !guesses_.tokens.empty() && state_.size() < n_computed;
  forget_guesses();
  if (!is_behind) return {};
  return forward(
      model_, pool_, scratch_, state_,
      std::span<const TokenId>(tokens_).subspan(state_.size(), n_computed - state_.size()),
      Output::none, {}, 0, images_);
}

uint32_t Session::n_guesses_room() const {
  const uint32_t n = state_.size() + n_left();
  const auto left_to = [n](uint32_t step) { return static_cast<uint32_t>(round_up(n, step) - n); };
  const uint32_t in_page = left_to(kv_store().config().page_positions);
  const uint32_t in_batch = scratch_.n_logit_rows - std::min(scratch_.n_logit_rows, n_left());
  const uint32_t room = std::min({n_ctx() - n, in_page, in_batch});
  // Checkpoints must be where they would be if tokens were computed one by one.
  return state_.recurrent().is_empty() ? room : std::min(room, left_to(kCheckpointInterval));
}

// Commits n computed tokens. A recurrent state is committed only when all guesses are taken: it is
// the state after the last of them.
Status Session::commit_guesses(uint32_t n) {
  if (state_.recurrent().is_empty()) return state_.commit(n);
  if (!guesses_.is_taken()) return {};
  const uint32_t n_before = state_.size();
  KINGLET_TRY(state_.commit());
  if (state_.size() / kCheckpointInterval > n_before / kCheckpointInterval) add_checkpoint();
  return {};
}

void Session::forget_guesses() {
  if (guesses_.tokens.empty()) return;
  state_.rollback();
  guesses_.tokens.clear();
  guesses_.n_taken = 0;
}

void Session::end_appending() {
  appending_.reset();
  state_.unpin();
}

Status Session::defer(TokenId token) {
  if (n_positions() == n_ctx()) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", n_ctx(), " of ", n_ctx(), " positions")};
  }
  tokens_.push_back(token);
  return {};
}

Status Session::compute_batch(uint32_t max_batch) {
  const uint32_t n = n_next(std::min(n_batch(), max_batch));
  const Output output = n == n_left() ? appending_->output : Output::none;
  const uint32_t n_before = state_.size();
  if (n > n_batch()) {
    KINGLET_ASSIGN(scratch_, Scratch::create(model_, n, pool_.n_threads()));
  }
  KINGLET_TRY(forward(model_, pool_, scratch_, state_,
                      std::span<const TokenId>(tokens_).subspan(n_before, n), output,
                      appending_->cancellation, 0, images_));
  const bool is_due = state_.size() / kCheckpointInterval > n_before / kCheckpointInterval;
  if (is_due || state_.size() == image_checkpoint()) add_checkpoint();
  return output == Output::logits ? check_finite(logits(), state_.size()) : Status();
}

// Returns the number of tokens of the next batch: at most `most`, except for a picture whose rows
// see each other, which needs all its rows in one batch.
uint32_t Session::n_next(uint32_t most) const {
  const uint32_t begin = state_.size();
  const uint32_t n = std::min(n_left(), most);
  for (const PlacedImage& placed : images_) {
    if (!placed.image->sees_all || placed.end() <= begin) continue;
    return placed.first > begin ? std::min(n, placed.first - begin) : placed.n_rows;
  }
  const uint32_t stop = image_checkpoint();
  return begin < stop ? std::min(n, stop - begin) : n;
}

// Returns the position after the last picture, where a checkpoint is kept: another question about
// the picture then need not compute it again. 0: none is needed.
uint32_t Session::image_checkpoint() const {
  const bool goes_anywhere = state_.recurrent().is_empty() && state_.groups().size() == 1;
  return goes_anywhere || images_.empty() ? 0 : images_.back().end();
}

// Checks the output after the first n_before positions.
Status Session::check_finite(std::span<const float> output, uint32_t n_before) const {
  if (!std::isnan(model_.kernels().largest(output.data(), output.size()))) return {};
  const auto bad =
      std::find_if_not(output.begin(), output.end(), [](float x) { return std::isfinite(x); });
  return Error{ErrorCode::not_finite,
               cat("number ", bad - output.begin(), " of the output after position ", n_before - 1,
                   " is not finite: the weights are damaged")};
}

}  // namespace kinglet
