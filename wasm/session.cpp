#include "wasm/session.h"

#include <emscripten/bind.h>

#include <string>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/ascii.h"
#include "base/format.h"
#include "model/cpu_sequence.h"
#include "session/state.h"

namespace kinglet {
namespace {

void read_generation_options(const val& fields, GenerationOptions& options) {
  options.max_tokens = from_number<uint32_t>(number(fields, "maxTokens"));
  for (const SamplingOption& option : sampling_options()) {
    option.set(options.sampler, number(fields, camel_case(option.name).c_str()));
  }
  options.sampler.dry_sequence_breakers = texts(get(fields, "drySequenceBreakers"));
  options.sampler.seed = from_number<uint64_t>(number(fields, "seed"));
  const val biases = get(fields, "logitBias");
  for (uint32_t i = 0; i < length(biases); ++i) {
    const val bias = biases[i];
    options.sampler.logit_bias.push_back(
        {from_number<TokenId>(number(bias, "0")), static_cast<float>(number(bias, "1"))});
  }
  options.stop = texts(get(fields, "stop"));
  const double n_logprobs = number(fields, "logprobs");
  if (n_logprobs >= 0) options.n_logprobs = from_number<uint32_t>(n_logprobs);
  options.n_lookup = from_number<uint32_t>(number(fields, "lookup"));
  options.replaces_context = number(fields, "replacesContext") != 0;
  const double n_kept = number(fields, "nKept");
  options.shifts_context = n_kept >= 0;
  if (options.shifts_context) options.n_kept = from_number<uint32_t>(n_kept);
  options.cancellation = to_cancellation(number(fields, "id"));
}

// The format that vision.cpp writes: JavaScript's numbers cannot represent all 64-bit integers.
uint64_t from_hexadecimal(std::string_view digits) {
  uint64_t number = 0;
  for (const char digit : digits) number = number << 4 | hex_digit(digit).value_or(0);
  return number;
}

val tokens_of_image(const val& fields) { return to_js_ids(image_tokens(*to_image(fields))); }

}  // namespace

SharedImage to_image(const val& fields) {
  auto image = std::make_shared<ImageRows>();
  const val rows = get(fields, "rows");
  image->rows = std::vector<float>(length(rows));
  copy_numbers(rows, std::span(image->rows));
  image->n_rows = from_number<uint32_t>(number(fields, "nRows"));
  image->width = from_number<uint32_t>(number(fields, "width"));
  image->grid_width = from_number<uint32_t>(number(fields, "gridWidth"));
  image->grid_height = from_number<uint32_t>(number(fields, "gridHeight"));
  image->sees_all = number(fields, "seesAll") != 0;
  image->checksum = from_hexadecimal(text(get(fields, "checksum")));
  return image;
}

val EngineSession::start(const val& prompt, const std::shared_ptr<EngineAnswer>& answer,
                         const val& options) {
  GenerationOptions core_options;
  core_options.images = std::exchange(images_, {});
  answer->plan().constrain(core_options);
  read_generation_options(options, core_options);
  const auto n_cached = begin_generation(to_ids(prompt), core_options);
  if (!n_cached.ok()) return failure(n_cached.error());
  answer_ = answer;
  return success(val(to_number(n_cached.value())));
}

val EngineSession::step(double max_batch) {
  const auto step = next_step(max_batch);
  if (!step.ok()) return failure(step.error());
  val fields = val::object();
  set(fields, "nPromptDone", step.value().n_prompt_done);
  set(fields, "nComputed", step.value().n_computed);
  set(fields, "nGuessed", step.value().n_guessed);
  set(fields, "nAccepted", step.value().n_accepted);
  set(fields, "nDropped", step.value().n_dropped);
  set(fields, "token", step.value().token);
  set_delta(fields, answer_->push(step.value().text, step.value().is_last()));
  set(fields, "logprob", step.value().logprob);
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  for (const Candidate& candidate : step.value().top) {
    tokens.push_back(candidate.token);
    logprobs.push_back(candidate.weight);
  }
  set(fields, "topTokens", to_js_ids(tokens));
  set(fields, "topLogprobs", to_js_floats(logprobs));
  set(fields, "finishReason", finish_reason_name(answer_->finish(step.value().finish)));
  return success(fields);
}

val EngineSession::cancel() {
  if (!generation_) return to_js(session_->abandon());
  const auto step = generation_->cancel();
  generation_.reset();
  if (!step.ok()) return failure(step.error());
  return success(answer_ ? answer_->read(step.value().text, true) : val::null());
}

val EngineSession::begin(const val& tokens, double id) {
  generation_.reset();
  const std::vector<SharedImage> images = std::exchange(images_, {});
  const Status status =
      session_->begin(to_ids(tokens), {.cancellation = to_cancellation(id), .images = images});
  return status.ok() ? success(val(to_number(session_->n_left()))) : failure(status.error());
}

uint32_t EngineSession::give_image(const val& image) {
  images_.push_back(to_image(image));
  return static_cast<uint32_t>(images_.size());
}

val EngineSession::held_images() const {
  const PlacedImages images = session_->images();
  std::vector<TokenId> ids(images.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = images[i].has_rows() ? image_token(*images[i].image, 0) : kNoToken;
  }
  return to_js_ids(ids);
}

val EngineSession::advance(double max_batch) {
  const Status status = session_->advance(from_number<uint32_t>(max_batch));
  if (!status.ok()) return failure(status.error());
  const uint32_t n_left = session_->n_left();
  val fields = val::object();
  set(fields, "nLeft", n_left);
  set(fields, "logits", to_js_floats(n_left == 0 ? session_->logits() : std::span<const float>()));
  return success(fields);
}

val EngineSession::save() const {
  const auto state = save_state(*session_);
  if (!state.ok()) return failure(state.error());
  const auto bytes = state.value().bytes();
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  return success(to_js_array("Uint8Array", std::span(data, bytes.size())));
}

val EngineSession::restore(const val& bytes) {
  generation_.reset();
  const auto copy = copy_bytes(bytes, "a session's state");
  if (!copy.ok()) return failure(copy.error());
  return to_js(restore_state(*session_, copy.value().bytes()));
}

val EngineSession::fork() const {
  auto fork = session_->fork();
  if (!fork.ok()) return failure(fork.error());
  return success(val(std::make_shared<EngineSession>(loaded_, siblings_, std::move(fork.value()))));
}

val EngineSession::tokens() const { return to_js_ids(session_->tokens()); }

val EngineSession::truncate(double n_positions) {
  generation_.reset();
  return to_js(session_->truncate(from_number<uint32_t>(n_positions)));
}

uint32_t EngineSession::keep_prefix(const val& tokens) {
  generation_.reset();
  return session_->keep_prefix(to_ids(tokens));
}

val EngineSession::kv_pages() const {
  const KvCache& rows = cpu_state(session_->sequence()).rows();
  const KvStore& store = rows.store();
  std::vector<uint32_t> users;
  for (uint32_t page = 0; page < store.config().n_pages; ++page) {
    users.push_back(store.n_users(page));
  }
  val fields = val::object();
  set(fields, "pageTokens", store.config().page_positions);
  set(fields, "pageBytes", to_number(store.page_bytes()));
  set(fields, "nCopies", to_number(store.n_page_copies()));
  set(fields, "table", to_js_array("Uint32Array", rows.pages()));
  set(fields, "users", to_js_array("Uint32Array", std::span<const uint32_t>(users)));
  return fields;
}

Result<uint32_t> EngineSession::begin_generation(const std::vector<TokenId>& prompt,
                                                 const GenerationOptions& options) {
  generation_.reset();
  answer_ = nullptr;
  KINGLET_ASSIGN(generation_, Generation::start(*session_, *loaded_->tokenizer, prompt, options));
  return generation_->n_prompt_done();
}

Result<GenerationStep> EngineSession::next_step(double max_batch) {
  if (!generation_) {
    return Error{ErrorCode::invalid_argument, "a step needs a generation under way"};
  }
  decode_jointly();
  auto step = generation_->step(from_number<uint32_t>(max_batch));
  if (!step.ok() || step.value().is_last()) generation_.reset();
  return step;
}

// The most answers that are computed in one pass. More would hardly be faster.
constexpr uint32_t kMostJoint = 8;

// If this session has a token to compute, computes those of other sessions in the same pass. The
// sessions take turns, so that one of them does this in each round.
void EngineSession::decode_jointly() {
  if (siblings_->all.size() < 2 || !generation_->draws_next() || !session_->can_join()) return;
  std::vector<RunningAnswer> answers{{session_.get(), &*generation_}};
  for (EngineSession* other : siblings_->all) {
    if (other == this || !other->generation_ || other->n_ctx() != n_ctx()) continue;
    answers.push_back({other->session_.get(), &*other->generation_});
  }
  if (answers.size() < 2) return;
  if (!std::exchange(siblings_->is_tried, true)) {
    auto made = JointDecoding::create(loaded_->model, thread_pool(), kMostJoint);
    if (made.ok()) siblings_->joint_decoding = std::move(made.value());
  }
  if (siblings_->joint_decoding) siblings_->joint_decoding->compute(answers);
}

val to_js_kinds(const SequenceBytes& sequence) {
  const auto name = [](KvKind kind) { return std::string(kv_kind_info(kind).name); };
  val kinds = val::object();
  set(kinds, "k", name(sequence.k_kind));
  set(kinds, "v", name(sequence.v_kind));
  return kinds;
}

Result<SequenceOptions> to_session_options(const val& fields) {
  SequenceOptions options;
  options.n_ctx = from_number<uint32_t>(number(fields, "nCtx"));
  const double n_batch = number(fields, "nBatch");
  if (n_batch > 0) options.n_batch = from_number<uint32_t>(n_batch);
  options.pool_positions = from_number<uint32_t>(number(fields, "kvPool"));
  if (options.pool_positions > 0) options.page_positions = kDefaultPagePositions;
  KINGLET_ASSIGN(options.k_kind, choose_kv_kind(text(get(fields, "kKind"))));
  KINGLET_ASSIGN(options.v_kind, choose_kv_kind(text(get(fields, "vKind"))));
  return options;
}

val new_session(std::shared_ptr<const LanguageModel> loaded,
                std::shared_ptr<ModelSessions> siblings, const val& fields) {
  const auto options = to_session_options(fields);
  if (!options.ok()) return failure(options.error());
  auto session = Session::create(loaded->model, thread_pool(), options.value());
  if (!session.ok()) return failure(session.error());
  return success(val(std::make_shared<EngineSession>(std::move(loaded), std::move(siblings),
                                                     std::move(session.value()))));
}

EMSCRIPTEN_BINDINGS(kinglet_session) {
  using namespace emscripten;

  class_<EngineSession>("EngineSession")
      .smart_ptr<std::shared_ptr<EngineSession>>("EngineSession")
      .function("start", &EngineSession::start)
      .function("step", &EngineSession::step)
      .function("cancel", &EngineSession::cancel)
      .function("begin", &EngineSession::begin)
      .function("giveImage", &EngineSession::give_image)
      .function("heldImages", &EngineSession::held_images)
      .function("advance", &EngineSession::advance)
      .function("save", &EngineSession::save)
      .function("restore", &EngineSession::restore)
      .function("fork", &EngineSession::fork)
      .function("tokens", &EngineSession::tokens)
      .function("truncate", &EngineSession::truncate)
      .function("keepPrefix", &EngineSession::keep_prefix)
      .function("commonPrefix", &EngineSession::common_prefix)
      .function("nPositions", &EngineSession::n_positions)
      .function("nCtx", &EngineSession::n_ctx)
      .function("nBatch", &EngineSession::n_batch)
      .function("kvKinds", &EngineSession::kv_kinds)
      .function("kvBytes", &EngineSession::kv_bytes)
      .function("recurrentBytes", &EngineSession::recurrent_bytes)
      .function("kvPages", &EngineSession::kv_pages)
      .function("scratchBytes", &EngineSession::scratch_bytes);

  function("imageTokens", &tokens_of_image);
}

}  // namespace kinglet
