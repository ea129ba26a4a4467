#include "wasm/session.h"

#include <emscripten/bind.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/ascii.h"
#include "base/format.h"
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
  options.cancellation = to_cancellation(number(fields, "id"));
}

// The format that vision.cpp writes: JavaScript's numbers cannot represent all 64-bit integers.
uint64_t from_hexadecimal(std::string_view digits) {
  uint64_t number = 0;
  for (const char digit : digits) number = number << 4 | hex_digit(digit).value_or(0);
  return number;
}

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

void EngineSession::start(const std::shared_ptr<EngineAnswer>& answer, const val& options,
                          const val& on_event) {
  AnswerJob job{.prompt = answer->prompt(),
                .options = {},
                .plan = answer->plan(),
                .deliver = [answer, on_event](const Result<AnswerEvent>& event) {
                  if (event.ok()) answer->add(event.value().added);
                  on_event(event.ok() ? success(to_js(event.value())) : failure(event.error()));
                }};
  answer->prepare(job.options);
  read_generation_options(options, job.options);
  submit(std::move(job));
}

void EngineSession::submit(AnswerJob job) {
  runner_->cancel(*session_);
  job.options.images = std::exchange(images_, {});
  job.session = session_.get();
  runner_->submit(std::move(job));
}

void EngineSession::append(const val& tokens, double id, const val& on_logits) {
  runner_->cancel(*session_);
  runner_->submit(AppendJob{.tokens = to_ids(tokens),
                            .images = std::exchange(images_, {}),
                            .cancellation = to_cancellation(id),
                            .deliver =
                                [on_logits](const Result<std::span<const float>>& logits) {
                                  on_logits(logits.ok() ? success(to_js_floats(logits.value()))
                                                        : failure(logits.error()));
                                },
                            .session = session_.get()});
}

val EngineSession::give_image(const val& image) {
  images_.push_back(to_image(image));
  return to_js_ids(image_tokens(*images_.back()));
}

// A restored session knows pictures without their rows. It does not need the rows while the
// pictures keep their positions.
std::vector<uint32_t> EngineSession::missing(const std::vector<TokenId>& prompt,
                                             const PartsOfPictures& pictures) const {
  std::vector<TokenId> held;  // the first token of each picture that has its rows
  for (const PlacedImage& placed : session_->images()) {
    if (placed.has_rows()) held.push_back(image_token(*placed.image, 0));
  }
  const uint32_t n_stay = session_->common_prefix(prompt);
  const auto is_missing = [&](const ImagePart& part) {
    if (part.is_text()) return false;
    const TokenId first = image_token(part.image, 0);
    const auto place = std::find(prompt.rbegin(), prompt.rend(), first);
    if (place == prompt.rend()) return false;  // of a message that was left out
    const auto end = static_cast<uint32_t>(prompt.rend() - place) - 1 + part.image.n_rows;
    return end > n_stay && std::find(held.begin(), held.end(), first) == held.end();
  };
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < pictures.size(); ++i) {
    if (std::any_of(pictures[i].begin(), pictures[i].end(), is_missing)) found.push_back(i);
  }
  return found;
}

val EngineSession::missing_pictures(const std::shared_ptr<EngineAnswer>& answer) const {
  const std::vector<uint32_t> found = missing(answer->prompt(), answer->pictures());
  return to_js_array<uint32_t>("Uint32Array", found);
}

val EngineSession::save() const {
  const auto state = save_state(*session_);
  if (!state.ok()) return failure(state.error());
  const auto bytes = state.value().bytes();
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  return success(to_js_array("Uint8Array", std::span(data, bytes.size())));
}

val EngineSession::reserve_state(double n_bytes) {
  auto room = AlignedBuffer::allocate(from_number<uint64_t>(n_bytes), "a session's state");
  if (!room.ok()) return failure(room.error());
  state_ = std::move(room.value());
  return to_js(Result<std::span<std::byte>>(state_.bytes()));
}

val EngineSession::restore() {
  runner_->cancel(*session_);
  return to_js(restore_state(*session_, std::exchange(state_, {}).bytes()));
}

val EngineSession::stored_prompt(const std::shared_ptr<EngineAnswer>& answer) const {
  return stored_prompt(answer->prompt());
}

val EngineSession::stored_prompt(const std::vector<TokenId>& prompt) const {
  const CachedPrompt* found = runner_->cache()->find(prompt, *session_);
  if (found == nullptr) return val::undefined();
  val fields = val::object();
  set(fields, "name", found->name);
  set(fields, "nTokens", to_number(found->beginning.tokens.size()));
  return fields;
}

val EngineSession::fork() const {
  auto fork = session_->fork();
  if (!fork.ok()) return failure(fork.error());
  return success(val(std::make_shared<EngineSession>(loaded_, runner_, std::move(fork.value()))));
}

val EngineSession::tokens() const { return to_js_ids(session_->tokens()); }

val EngineSession::truncate(double n_positions) {
  runner_->cancel(*session_);
  return to_js(session_->truncate(from_number<uint32_t>(n_positions)));
}

uint32_t EngineSession::keep_prefix(const val& tokens) {
  runner_->cancel(*session_);
  return session_->keep_prefix(to_ids(tokens));
}

val EngineSession::kv_pages() const {
  const KvCache& rows = session_->sequence().state_here()->rows();
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

val to_js_kinds(KvKind k_kind, KvKind v_kind) {
  const auto name = [](KvKind kind) { return std::string(kv_kind_info(kind).name); };
  val kinds = val::object();
  set(kinds, "k", name(k_kind));
  set(kinds, "v", name(v_kind));
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

val new_session(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
                const val& fields) {
  const auto options = to_session_options(fields);
  if (!options.ok()) return failure(options.error());
  auto session = Session::create(loaded->model, thread_pool(), options.value());
  if (!session.ok()) return failure(session.error());
  return success(val(std::make_shared<EngineSession>(std::move(loaded), std::move(runner),
                                                     std::move(session.value()))));
}

EMSCRIPTEN_BINDINGS(kinglet_session) {
  using namespace emscripten;

  class_<EngineSession>("EngineSession")
      .smart_ptr<std::shared_ptr<EngineSession>>("EngineSession")
      .function("start", &EngineSession::start)
      .function("cancel", &EngineSession::cancel)
      .function("append", &EngineSession::append)
      .function("giveImage", &EngineSession::give_image)
      .function("missingPictures", &EngineSession::missing_pictures)
      .function("save", &EngineSession::save)
      .function("reserveState", &EngineSession::reserve_state)
      .function("restore", &EngineSession::restore)
      .function("storedPrompt", select_overload<val(const std::shared_ptr<EngineAnswer>&) const>(
                                    &EngineSession::stored_prompt))
      .function("fork", &EngineSession::fork)
      .function("tokens", &EngineSession::tokens)
      .function("truncate", &EngineSession::truncate)
      .function("keepPrefix", &EngineSession::keep_prefix)
      .function("nPositions", &EngineSession::n_positions)
      .function("nCtx", &EngineSession::n_ctx)
      .function("nBatch", &EngineSession::n_batch)
      .function("kvKinds", &EngineSession::kv_kinds)
      .function("kvBytes", &EngineSession::kv_bytes)
      .function("recurrentBytes", &EngineSession::recurrent_bytes)
      .function("kvPages", &EngineSession::kv_pages)
      .function("scratchBytes", &EngineSession::scratch_bytes);
}

}  // namespace kinglet
