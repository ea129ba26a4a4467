#include "session/session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/checked.h"
#include "base/format.h"
#include "model/cpu_sequence.h"

namespace kinglet {

uint32_t count_common(std::span<const TokenId> a, std::span<const TokenId> b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<uint32_t>(end - a.begin());
}

Session::Session(std::unique_ptr<Sequence> sequence) : sequence_(std::move(sequence)) {
  tokens_.reserve(n_ctx());
  guesses_.tokens.reserve(sequence_->n_logit_rows());
}

Result<std::unique_ptr<Session>> Session::create(const Model& model, ThreadPool& pool,
                                                 const SequenceOptions& options) {
  KINGLET_ASSIGN(auto sequence, CpuSequence::create(model, pool, options));
  return std::make_unique<Session>(std::move(sequence));
}

Result<std::unique_ptr<Session>> Session::create_in(std::shared_ptr<KvStore> store,
                                                    const Model& model, ThreadPool& pool,
                                                    const SequenceOptions& options) {
  KINGLET_ASSIGN(auto sequence, CpuSequence::create_in(std::move(store), model, pool, options));
  return std::make_unique<Session>(std::move(sequence));
}

Result<std::unique_ptr<Session>> Session::fork() const {
  KINGLET_ASSIGN(auto sequence, sequence_->fork());
  auto session = std::make_unique<Session>(std::move(sequence));
  session->tokens_.assign(tokens_.begin(), tokens_.end());
  session->images_ = images_;
  return session;
}

Status Session::truncate(uint32_t n_positions) {
  if (n_positions > tokens_.size()) {
    return Error{
        ErrorCode::invalid_argument,
        cat("cannot truncate to ", n_positions, " positions: the context holds ", tokens_.size())};
  }
  forget_guesses();
  KINGLET_TRY(sequence_->state().truncate(place_before(std::min(n_positions, n_computed()))));
  tokens_.resize(n_positions);
  images_.cut(n_positions);
  end_appending();
  return {};
}

uint32_t Session::common_prefix(std::span<const TokenId> tokens) const {
  const auto others = tokens.first(tokens.empty() ? 0 : tokens.size() - 1);
  return place_before(std::min(count_common(tokens_, others), n_computed()));
}

uint32_t Session::keep_prefix(std::span<const TokenId> tokens) {
  (void)truncate(common_prefix(tokens));  // cannot fail: never past the end
  return n_positions();
}

Status Session::shift(uint32_t n_kept, uint32_t n_dropped) {
  forget_guesses();
  if (model().config().rope.has_sections() && !images_.is_empty()) {
    return Error{ErrorCode::unsupported_feature,
                 "a full context with pictures cannot be shifted: this model counts their rows and "
                 "columns as positions"};
  }
  const bool is_inside = n_kept <= n_positions() && n_dropped <= n_positions() - n_kept;
  const uint32_t rest = is_inside ? n_kept + n_dropped : 0;
  const PlacedImage* cut = n_dropped > 0 ? image_at(images(), rest) : nullptr;
  if (cut != nullptr && cut->first < rest) n_dropped = cut->end() - n_kept;
  KINGLET_TRY(sequence_->shift(n_kept, n_dropped));
  const auto first = tokens_.begin() + static_cast<ptrdiff_t>(n_kept);
  tokens_.erase(first, first + static_cast<ptrdiff_t>(n_dropped));
  images_.drop(n_kept, n_dropped);
  const uint32_t place = place_before(n_computed());
  return place < n_computed() ? sequence_->state().truncate(place) : Status();
}

Status Session::restore(std::span<const TokenId> tokens, std::vector<PlacedImage> images,
                        const SavedRows& saved, std::span<const std::byte> rows,
                        std::span<const std::byte> recurrent) {
  forget_guesses();
  KINGLET_TRY(sequence_->state().restore(saved, rows, recurrent));
  images_ = ContextImages(std::move(images), images_);
  tokens_.assign(tokens.begin(), tokens.end());
  end_appending();
  return {};
}

// Returns the last place at or before n_positions to which the state can go back, and that is not
// inside a picture whose rows must be computed together. Each of the two conditions may move the
// place back and so break the other one: the loop ends where both hold, at 0 at the latest.
uint32_t Session::place_before(uint32_t n_positions) const {
  uint32_t place = sequence_->state().reachable(n_positions);
  while (const PlacedImage* placed = image_at(images(), place)) {
    if (!placed->is_torn_at(place)) break;
    place = sequence_->state().reachable(placed->first);
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

Status Session::begin(std::span<const TokenId> tokens, const AppendOptions& options) {
  KINGLET_TRY(abandon());
  // First all that can fail, without changing anything; then the change.
  const uint32_t n_old = options.replaces_context ? 0 : n_positions();
  if (tokens.empty()) {
    return Error{ErrorCode::invalid_argument, "there are no tokens to append"};
  }
  if (options.output == Output::hidden) {
    return Error{ErrorCode::invalid_argument,
                 "a session does not return hidden states: only encoders do"};
  }
  if (tokens.size() > n_ctx() - n_old) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", n_old, " of ", n_ctx(), " positions, and ",
                     tokens.size(), " more do not fit")};
  }
  forget_guesses();
  for (const SharedImage& image : options.images) {
    KINGLET_TRY(check_image(*image, model().config()));
  }
  KINGLET_ASSIGN(ContextImages images, images_.with(tokens, n_old, options.images));
  if (options.all_logits && !images.is_empty()) {
    return Error{ErrorCode::unsupported_feature,
                 "the logits of every position are not available in a context with pictures"};
  }
  const auto shared = options.all_logits ? tokens.first(0) : tokens;
  KINGLET_TRY(images.check_rows(options.replaces_context ? common_prefix(shared) : n_computed()));
  if (options.replaces_context) tokens = tokens.subspan(keep_prefix(shared));
  images_ = std::move(images);
  appending_ = {.output = options.output,
                .all_logits = options.all_logits,
                .cancellation = options.cancellation,
                .n_before = n_positions(),
                .keeps_batches = options.replaces_context};
  sequence_->state().pin();
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return {};
}

Status Session::begin_logits(const Cancellation& cancellation) {
  KINGLET_TRY(abandon());
  if (tokens_.empty()) {
    return Error{ErrorCode::invalid_argument, "an empty context has no logits"};
  }
  forget_guesses();
  const uint32_t place = n_left() == 0 ? place_before(n_positions() - 1) : n_computed();
  KINGLET_TRY(images_.check_rows(place));
  if (n_left() == 0) {
    KINGLET_TRY(sequence_->state().unshare(place));  // may fail, so it must come before truncate()
    KINGLET_TRY(sequence_->state().truncate(place));
  }
  appending_ = {.output = Output::logits,
                .all_logits = false,
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
  if (appending_->keeps_batches) appending_->n_before = n_computed();
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
  // The guesses stand behind the context only while the step computes: until a sampled token is the
  // same, they are not part of it.
  std::vector<TokenId>& ahead = guesses_.tokens;
  ahead.assign(guesses.begin(), guesses.end());
  guesses_.first = n_positions();
  const uint32_t n = n_left();
  tokens_.insert(tokens_.end(), ahead.begin(), ahead.end());
  Status status = compute(n_left(), {.output = Output::logits,
                                     .n_guesses = static_cast<uint32_t>(ahead.size()),
                                     .cancellation = cancellation,
                                     .images = images()});
  tokens_.resize(guesses_.first);
  if (status.ok()) status = commit_guesses(n);
  if (status.ok()) status = check_finite(n_positions());
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
  KINGLET_TRY(check_finite(n_positions()));
  return true;
}

Status Session::settle() {
  const uint32_t n_taken = guesses_.first + guesses_.n_taken;
  const bool is_behind = !guesses_.tokens.empty() && n_computed() < n_taken;
  forget_guesses();
  if (!is_behind) return {};
  return compute(n_taken - n_computed(), {.output = Output::none, .images = images()});
}

uint32_t Session::n_guesses_room() const {
  const uint32_t in_batch =
      sequence_->n_logit_rows() - std::min(sequence_->n_logit_rows(), n_left());
  const uint32_t room = std::min(sequence_->room_after(n_positions()), in_batch);
  if (!has_recurrent_state()) return room;
  // Checkpoints must be where they would be if tokens were computed one by one.
  const auto checkpoint = static_cast<uint32_t>(round_up(n_positions(), kCheckpointInterval));
  return std::min(room, checkpoint - n_positions());
}

// Commits n computed tokens. A recurrent state is committed only when all guesses are taken: it is
// the state after the last of them.
Status Session::commit_guesses(uint32_t n) {
  if (!has_recurrent_state()) return sequence_->state().commit(n);
  if (!guesses_.is_taken()) return {};
  const uint32_t n_before = n_computed();
  KINGLET_TRY(sequence_->state().commit(guesses_.first + guesses_.n_taken - n_before));
  if (n_computed() / kCheckpointInterval > n_before / kCheckpointInterval) add_checkpoint();
  return {};
}

void Session::forget_guesses() {
  if (guesses_.tokens.empty()) return;
  sequence_->state().rollback();
  guesses_.tokens.clear();
  guesses_.n_taken = 0;
}

void Session::end_appending() {
  appending_.reset();
  sequence_->state().unpin();
}

Status Session::defer(TokenId token) {
  if (n_positions() == n_ctx()) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", n_ctx(), " of ", n_ctx(), " positions")};
  }
  tokens_.push_back(token);
  return {};
}

// Computes the next n tokens.
Status Session::compute(uint32_t n, const StepOptions& options) {
  last_row_ = 0;
  return sequence_->forward(std::span<const TokenId>(tokens_).subspan(n_computed(), n), options);
}

Status Session::compute_batch(uint32_t max_batch) {
  const uint32_t n_before = n_computed();
  const uint32_t stop = image_checkpoint();
  const bool all = appending_->all_logits;
  const uint32_t most = all ? sequence_->n_logit_rows() : n_batch();
  // A batch ends at the checkpoint behind the last picture, so that the state there is kept.
  uint32_t n = images_.batch_size(n_before, std::min({n_left(), n_batch(), max_batch, most}));
  if (n_before < stop) n = std::min(n, stop - n_before);
  if (n > n_batch()) KINGLET_TRY(sequence_->grow_batch(n));
  const Output output = all || n == n_left() ? appending_->output : Output::none;
  // A step has logits after all tokens that may be guesses.
  const uint32_t n_rows_more = all ? n - 1 : 0;
  KINGLET_TRY(compute(n, {.output = output,
                          .n_guesses = n_rows_more,
                          .cancellation = appending_->cancellation,
                          .images = images()}));
  if (n_rows_more > 0) KINGLET_TRY(sequence_->state().commit(n));
  last_row_ = n_rows_more;
  const bool is_due = n_computed() / kCheckpointInterval > n_before / kCheckpointInterval;
  if (is_due || n_computed() == stop) add_checkpoint();
  if (output != Output::logits) return {};
  for (uint32_t i = 0; i < n_rows_more; ++i) {
    KINGLET_TRY(check_finite(batch_logits(i), n_before + i + 1));
  }
  return check_finite(n_computed());
}

// Returns the position after the last picture, where a checkpoint is kept: another question about
// the picture then need not compute it again. 0: none is needed.
uint32_t Session::image_checkpoint() const {
  const bool goes_anywhere = !has_recurrent_state() && sequence_->saved_rows().n_spare == kAllRows;
  return goes_anywhere ? 0 : images_.end();
}

// Checks the logits after the first n_before positions.
Status Session::check_finite(uint32_t n_before) { return check_finite(logits(), n_before); }

Status Session::check_finite(std::span<const float> output, uint32_t n_before) const {
  if (!std::isnan(model().kernels().largest(output.data(), output.size()))) return {};
  const auto bad =
      std::find_if_not(output.begin(), output.end(), [](float x) { return std::isfinite(x); });
  return Error{ErrorCode::not_finite,
               cat("number ", bad - output.begin(), " of the output after position ", n_before - 1,
                   " is not finite: the weights are damaged")};
}

}  // namespace kinglet
