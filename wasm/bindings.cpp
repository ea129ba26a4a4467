// The wasm module as JavaScript sees it: engine.d.ts describes everything that is bound here.
#include <emscripten/bind.h>
#include <emscripten/val.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/session.h"
#include "text/tokenizer.h"

namespace kinglet {
namespace {

using emscripten::val;

val failure(const Error& error) {
  val fields = val::object();
  fields.set("code", std::string(error_code_name(error.code)));
  fields.set("message", error.message);
  val result = val::object();
  result.set("error", fields);
  return result;
}

template <class T>
val success(T&& value) {
  val result = val::object();
  result.set("value", std::forward<T>(value));
  return result;
}

val to_js(const Status& status) {
  return status.ok() ? success(val::null()) : failure(status.error());
}

// JavaScript's numbers are doubles; whole numbers up to 2^53 pass without loss.
double to_number(uint64_t value) { return static_cast<double>(value); }

// What is not in the range, NaN included, becomes the nearest number that is.
template <class T>
T from_number(double value) {
  constexpr auto kMax = static_cast<double>(std::numeric_limits<T>::max());
  if (!(value > 0)) return 0;
  return value >= kMax ? std::numeric_limits<T>::max() : static_cast<T>(value);
}

std::vector<TokenId> to_ids(const val& ids) {
  return emscripten::convertJSArrayToNumberVector<TokenId>(ids);
}

// The array is copied: a view would be lost when memory grows.
val to_js_ids(std::span<const TokenId> ids) {
  return val::global("Int32Array").new_(val(emscripten::typed_memory_view(ids.size(), ids.data())));
}

// One pool for the instance, as its workers can only start while no call is running.
ThreadPool& thread_pool() {
#if defined(__EMSCRIPTEN_PTHREADS__)
  static ThreadPool pool(from_number<size_t>(val::module_property("nThreads").as<double>()));
#else
  static ThreadPool pool;
#endif
  return pool;
}

size_t n_pool_threads() { return thread_pool().n_threads(); }

val kernel_sets() {
  val names = val::array();
  for (const KernelSet* kernels : available_kernels()) {
    names.call<void>("push", std::string(kernels->name));
  }
  return names;
}

// Fields are read one by one: an Embind value object would take several times the code.
double number(const val& fields, const char* name) { return fields[name].as<double>(); }

Status read_generation_options(const val& fields, GenerationOptions& options) {
  options.max_tokens = from_number<uint32_t>(number(fields, "maxTokens"));
  options.sampler.temperature = static_cast<float>(number(fields, "temperature"));
  options.sampler.top_k = from_number<int32_t>(number(fields, "topK"));
  options.sampler.top_p = static_cast<float>(number(fields, "topP"));
  options.sampler.min_p = static_cast<float>(number(fields, "minP"));
  options.sampler.repeat_penalty = static_cast<float>(number(fields, "repeatPenalty"));
  options.sampler.repeat_last_n = from_number<int32_t>(number(fields, "repeatLastN"));
  options.sampler.seed = from_number<uint64_t>(number(fields, "seed"));
  options.replaces_context = number(fields, "replacesContext") != 0;
  if (const val grammar = fields["grammar"]; !grammar.isUndefined()) {
    KINGLET_ASSIGN(Grammar parsed, Grammar::parse(grammar.as<std::string>()));
    options.grammar = std::make_shared<const Grammar>(std::move(parsed));
  }
  return {};
}

Result<KvKind> kv_kind(const std::string& name) {
  if (const KvKindInfo* info = find_kv_kind(name)) return info->kind;
  return Error{ErrorCode::invalid_argument,
               cat("KV kind \"", name, "\" is unknown: expected one of ", kv_kind_names())};
}

Result<SessionOptions> to_session_options(const val& fields) {
  SessionOptions options;
  options.n_ctx = from_number<uint32_t>(number(fields, "nCtx"));
  const double n_batch = number(fields, "nBatch");
  if (n_batch > 0) options.n_batch = from_number<uint32_t>(n_batch);
  KINGLET_ASSIGN(options.k_kind, kv_kind(fields["kKind"].as<std::string>()));
  KINGLET_ASSIGN(options.v_kind, kv_kind(fields["vKind"].as<std::string>()));
  return options;
}

// Sessions share the model and keep it alive, even when JavaScript deletes it first.
class EngineSession {
 public:
  EngineSession(std::shared_ptr<const LanguageModel> loaded, std::unique_ptr<Session> session)
      : loaded_(std::move(loaded)), session_(std::move(session)) {}

  val start(const val& prompt, const val& options) {
    generation_.reset();
    GenerationOptions core_options;
    const Status read = read_generation_options(options, core_options);
    if (!read.ok()) return failure(read.error());
    auto generation =
        Generation::start(*session_, *loaded_->tokenizer, to_ids(prompt), core_options);
    if (!generation.ok()) return failure(generation.error());
    generation_.emplace(std::move(generation.value()));
    return success(generation_->n_prompt_done());
  }

  val step() {
    if (!generation_) {
      return failure({ErrorCode::invalid_argument, "step() needs a generation under way"});
    }
    const auto step = generation_->step();
    if (!step.ok() || step.value().finish != FinishReason::none) generation_.reset();
    if (!step.ok()) return failure(step.error());
    val fields = val::object();
    fields.set("nPromptDone", step.value().n_prompt_done);
    fields.set("token", step.value().token);
    fields.set("text", step.value().text);
    fields.set("finishReason", std::string(finish_reason_name(step.value().finish)));
    return success(fields);
  }

  val cancel() {
    if (!generation_) return success(val::null());
    const Status status = generation_->cancel();
    generation_.reset();
    return to_js(status);
  }

  val fork() const {
    auto fork = session_->fork();
    if (!fork.ok()) return failure(fork.error());
    return success(std::make_shared<EngineSession>(loaded_, std::move(fork.value())));
  }

  val tokens() const { return to_js_ids(session_->tokens()); }

  val truncate(double n_positions) {
    generation_.reset();
    return to_js(session_->truncate(from_number<uint32_t>(n_positions)));
  }

  uint32_t n_positions() const { return session_->n_positions(); }
  uint32_t n_ctx() const { return session_->n_ctx(); }
  double kv_bytes() const { return to_number(session_->kv_bytes()); }
  double scratch_bytes() const { return to_number(session_->scratch_bytes()); }

 private:
  std::shared_ptr<const LanguageModel> loaded_;
  std::unique_ptr<Session> session_;
  std::optional<Generation> generation_;
};

class EngineModel {
 public:
  explicit EngineModel(std::shared_ptr<const LanguageModel> loaded) : loaded_(std::move(loaded)) {}

  val info() const {
    const Model& model = loaded_->model;
    const ModelConfig& config = model.config();
    const auto name = model.header().get_string("general.name", "");
    val fields = val::object();
    fields.set("name", std::string(name.ok() ? name.value() : ""));
    fields.set("architecture", std::string(config.architecture->name));
    fields.set("nParameters", to_number(model.n_parameters()));
    fields.set("nLayers", config.n_layers);
    fields.set("nTokens", config.vocab_size);
    fields.set("contextLength", config.context_length);
    fields.set("weightBytes", to_number(model.weight_bytes()));
    fields.set("kernels", std::string(model.kernels().name));
    const auto chat_template = model.header().get_string("tokenizer.chat_template", "");
    fields.set("chatTemplate", std::string(chat_template.ok() ? chat_template.value() : ""));
    fields.set("bosToken", spelling(loaded_->tokenizer->bos()));
    fields.set("eosToken", spelling(loaded_->tokenizer->eos()));
    return fields;
  }

  val encode(const std::string& text, bool add_bos, bool parse_special) const {
    const std::vector<TokenId> ids =
        loaded_->tokenizer->encode(text, {.add_bos = add_bos, .parse_special = parse_special});
    return to_js_ids(ids);
  }

  val decode(const val& ids, bool special) const {
    auto text = loaded_->tokenizer->decode(to_ids(ids), special);
    return text.ok() ? success(text.value()) : failure(text.error());
  }

  val new_session(const val& fields) const {
    const auto options = to_session_options(fields);
    if (!options.ok()) return failure(options.error());
    auto session = Session::create(loaded_->model, thread_pool(), options.value());
    if (!session.ok()) return failure(session.error());
    return success(std::make_shared<EngineSession>(loaded_, std::move(session.value())));
  }

 private:
  std::string spelling(TokenId id) const {
    return std::string(loaded_->tokenizer->piece(id, true));  // "" for kNoToken
  }

  std::shared_ptr<const LanguageModel> loaded_;
};

Result<std::shared_ptr<EngineModel>> load_model(std::vector<GgufFile> parts,
                                                const std::string& kernels) {
  KINGLET_ASSIGN(GgufFile file, GgufFile::join(std::move(parts)));
  KINGLET_ASSIGN(LanguageModel loaded, load_language_model(std::move(file), kernels));
  return std::make_shared<EngineModel>(std::make_shared<const LanguageModel>(std::move(loaded)));
}

// 0 where the source does not tell.
std::optional<uint64_t> announced(double file_bytes) {
  return file_bytes > 0 ? std::optional(from_number<uint64_t>(file_bytes)) : std::nullopt;
}

class EngineLoader {
 public:
  explicit EngineLoader(double file_bytes) : loader_(announced(file_bytes)) {}

  val next_part(double file_bytes) {
    const Status status = end_part();
    if (status.ok()) loader_ = GgufLoader(announced(file_bytes));
    return to_js(status);
  }

  val reserve(double max_bytes) {
    const auto room = loader_.reserve(from_number<size_t>(max_bytes));
    if (!room.ok()) return failure(room.error());
    val fields = val::object();
    fields.set("address", to_number(reinterpret_cast<uintptr_t>(room.value().data())));
    fields.set("bytes", to_number(room.value().size()));
    return success(fields);
  }

  val commit(double bytes) { return to_js(loader_.commit(from_number<size_t>(bytes))); }

  double file_bytes() const { return to_number(loader_.file_bytes().value_or(0)); }

  val finish(const val& options) {
    const Status status = end_part();
    if (!status.ok()) return failure(status.error());
    auto model = load_model(std::move(parts_), options["kernels"].as<std::string>());
    return model.ok() ? success(model.value()) : failure(model.error());
  }

 private:
  Status end_part() {
    KINGLET_ASSIGN(GgufFile part, loader_.finish());
    parts_.push_back(std::move(part));
    return {};
  }

  GgufLoader loader_;
  std::vector<GgufFile> parts_;
};

std::shared_ptr<EngineLoader> new_loader(double file_bytes) {
  return std::make_shared<EngineLoader>(file_bytes);
}

}  // namespace

EMSCRIPTEN_BINDINGS(kinglet) {
  using namespace emscripten;

  class_<EngineLoader>("EngineLoader")
      .smart_ptr<std::shared_ptr<EngineLoader>>("EngineLoader")
      .function("reserve", &EngineLoader::reserve)
      .function("commit", &EngineLoader::commit)
      .function("fileBytes", &EngineLoader::file_bytes)
      .function("nextPart", &EngineLoader::next_part)
      .function("finish", &EngineLoader::finish);
  class_<EngineModel>("EngineModel")
      .smart_ptr<std::shared_ptr<EngineModel>>("EngineModel")
      .function("info", &EngineModel::info)
      .function("encode", &EngineModel::encode)
      .function("decode", &EngineModel::decode)
      .function("newSession", &EngineModel::new_session);
  class_<EngineSession>("EngineSession")
      .smart_ptr<std::shared_ptr<EngineSession>>("EngineSession")
      .function("start", &EngineSession::start)
      .function("step", &EngineSession::step)
      .function("cancel", &EngineSession::cancel)
      .function("fork", &EngineSession::fork)
      .function("tokens", &EngineSession::tokens)
      .function("truncate", &EngineSession::truncate)
      .function("nPositions", &EngineSession::n_positions)
      .function("nCtx", &EngineSession::n_ctx)
      .function("kvBytes", &EngineSession::kv_bytes)
      .function("scratchBytes", &EngineSession::scratch_bytes);

  function("kernelSets", &kernel_sets);
  function("nPoolThreads", &n_pool_threads);
  function("newLoader", &new_loader);
}

}  // namespace kinglet
