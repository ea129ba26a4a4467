// The interface of the wasm module for JavaScript. engine.d.ts describes everything that is bound
// here.
#include <emscripten/bind.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answers/classifier.h"
#include "answers/runner.h"
#include "base/format.h"
#include "base/result.h"
#include "base/utf8.h"
#include "gguf/file.h"
#include "gguf/model_name.h"
#include "kernels/kernels.h"
#include "model/embedding_table.h"
#include "model/images.h"
#include "model/pooling.h"
#include "session/encoder_input.h"
#include "session/language_model.h"
#include "session/thread_choice.h"
#include "text/answer/answer_format.h"
#include "text/chat_keys.h"
#include "wasm/answer.h"
#include "wasm/api.h"
#include "wasm/prompt.h"
#include "wasm/prompts.h"
#include "wasm/search.h"
#include "wasm/session.h"
#include "wasm/values.h"
#include "wasm/weight_loader.h"

namespace kinglet {
namespace {

TooLong too_long(bool cuts) { return cuts ? TooLong::cut : TooLong::fail; }

[[gnu::noinline]] val to_js(const Result<std::vector<TokenId>>& ids) {
  return ids.ok() ? success(to_js_ids(ids.value())) : failure(ids.error());
}

// An EngineEncodingEvent. `rows`: null if they are not all done.
val event_of(size_t n_done, const Rows* rows) {
  val list = val::array();
  if (rows != nullptr) {
    for (const auto& row : *rows) list.call<void>("push", to_js_floats(row));
  }
  val fields = val::object();
  set(fields, "nDone", to_number(n_done));
  set(fields, "rows", list);
  set(fields, "isLast", rows != nullptr);
  return fields;
}

// How long a batch of a prompt may take, which delays everything else in this thread.
// EngineOverrides may say it.
double batch_seconds() {
  const val given = val::module_property("batchSeconds");
  return given.isUndefined() ? 0.15 : given.as<double>();
}

// A runner that keeps its cache alive.
std::shared_ptr<Runner> new_runner(const LanguageModel& loaded,
                                   const std::shared_ptr<PagePrompts>& prompts) {
  auto runner = Runner::create(loaded, thread_pool(),
                               {.cache = &prompts->cache(), .batch_seconds = batch_seconds()});
  return {runner.value().release(),
          [prompts](Runner* made) { delete made; }};  // NOLINT(cppcoreguidelines-owning-memory)
}

// Computes texts. The events are EngineEncodingEvents.
void submit(Runner& runner, Encoding encoding, const val& texts, double id, const val& on_event) {
  for (uint32_t i = 0; i < length(texts); ++i) encoding.texts.push_back(to_ids(texts[i]));
  runner.submit(EncodingJob{
      .encoding = std::move(encoding),
      .cancellation = to_cancellation(id),
      .deliver =
          [on_event](const Result<Rows>& rows) {
            on_event(rows.ok() ? success(event_of(rows.value().size(), &rows.value()))
                               : failure(rows.error()));
          },
      .on_progress = [on_event](size_t n_done) { on_event(success(event_of(n_done, nullptr))); }});
}

// See Classifier.
class EngineClassifier {
 public:
  EngineClassifier(std::shared_ptr<const LanguageModel> loaded,
                   std::shared_ptr<const ChatLayout> layout, std::shared_ptr<Runner> runner,
                   Classifier classifier)
      : loaded_(std::move(loaded)),
        layout_(std::move(layout)),
        runner_(std::move(runner)),
        classifier_(std::move(classifier)) {}

  val labels() const {
    val names = val::array();
    for (const std::string& label : classifier_.labels()) {
      names.call<void>("push", replace_ill_formed(label));
    }
    return names;
  }

  val tokens(const std::string& text, double id) const {
    const Status has_room = check_room_for_tokens(text);
    if (!has_room.ok()) return failure(has_room.error());
    return to_js(classifier_.tokens(text, to_cancellation(id)));
  }

  void classify(const val& texts, double id, const val& on_event) const {
    submit(*runner_, classifier_.encoding(), texts, id, on_event);
  }

 private:
  std::shared_ptr<const LanguageModel> loaded_;
  std::shared_ptr<const ChatLayout> layout_;
  std::shared_ptr<Runner> runner_;
  Classifier classifier_;
};

class EngineModel {
 public:
  explicit EngineModel(std::shared_ptr<const LanguageModel> loaded)
      : loaded_(std::move(loaded)),
        prompts_(std::make_shared<PagePrompts>(loaded_->model)),
        runner_(new_runner(*loaded_, prompts_)) {}

  val info() const {
    const Model& model = loaded_->model;
    const ModelConfig& config = model.config();
    val fields = val::object();
    set(fields, "architecture", metadata("general.architecture"));
    set(fields, "hasWeights", model.has_weights());
    set(fields, "nParameters", to_number(model.n_parameters()));
    set(fields, "nLayers", config.n_layers);
    set(fields, "nTokens",
        model.has_weights() ? config.vocab_size
                            : static_cast<uint32_t>(loaded_->tokenizer->n_tokens()));
    set(fields, "contextLength", config.context_length);
    set(fields, "purpose", purpose());
    set(fields, "pooling", config.pooling ? pooling_name(*config.pooling) : "");
    set(fields, "embeddingSize", to_number(model.weights().head.embedding_dim()));
    set(fields, "imageWidth", config.makes_text() ? config.image_width() : 0);
    set(fields, "weightBytes", to_number(model.weight_bytes()));
    set(fields, "storedBytes", to_number(model.stored_bytes()));
    set(fields, "kernels", model.kernels().name);
    set(fields, "chatTemplate", metadata(kChatTemplateKey));
    set(fields, "toolChatTemplate", metadata(kToolTemplateKey));
    set(fields, "sampling", sampling());
    set(fields, "bosToken", spelling(loaded_->tokenizer->bos()));
    set(fields, "eosToken", spelling(loaded_->tokenizer->eos()));
    return fields;
  }

  // Names the model by its metadata, or its file.
  std::string use_file_name(const std::string& file) {
    name_ = replace_ill_formed(model_name(loaded_->model.header(), file));
    return name_;
  }

  // Uses this chat template in place of the file's, unless it is empty.
  val use_template(const std::string& source) {
    own_template_ = source;
    return to_js(layout().check());
  }

  val lay_out(const val& conversation) { return kinglet::lay_out(conversation, layout()); }

  val tokens(const val& prompt) {
    auto read = read_prompt(prompt);
    if (!read.ok()) return failure(read.error());
    return success(to_js_ids(read.value().prompt.tokens));
  }

  val new_answer(const val& request) {
    const val prompt = get(request, "prompt");
    auto read = read_prompt(prompt);
    if (!read.ok()) return failure(read.error());
    const AnswerFormat format = is_conversation(prompt)
                                    ? layout().answer_format(!read.value().tools.tools.empty())
                                    : AnswerFormat();
    return kinglet::new_answer(request, std::move(read.value()), format, *loaded_->tokenizer);
  }

  val new_request(const val& request) {
    layout();
    return kinglet::new_request({loaded_, layout_, runner_, name_}, request);
  }

  val decode(const val& ids, bool special) const {
    auto text = loaded_->tokenizer->decode(to_ids(ids), special);
    if (!text.ok()) return failure(text.error());
    return success(val(replace_ill_formed(text.value())));
  }

  // The text of one token; a part of a character is U+FFFD.
  std::string piece(int32_t id) const { return spelling(id); }

  // The bytes of a token's text, which may be part of a character.
  val piece_bytes(int32_t id) const {
    const std::string_view bytes = loaded_->tokenizer->piece(id, true);
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    return to_js_array<uint8_t>("Uint8Array", {data, bytes.size()});
  }

  bool knows_tools(const std::string& chat_template) const {
    return find_answer_format(chat_template).knows_tools;
  }

  void cancel(double id) const { kinglet::cancel(from_number<uint32_t>(id)); }

  // Returns whether anything is left to do.
  bool advance(double ms) const {
    messages_came();
    if (runner_->is_busy()) runner_->advance(std::chrono::duration<double>(ms / 1000));
    return runner_->is_busy();
  }

  val new_session(const val& options) const {
    return kinglet::new_session(loaded_, runner_, options);
  }

  // Adds a stored state of a prompt, given its first bytes. Returns an EngineStoredBeginning.
  val add_prompt(const std::string& name, const val& first_bytes) {
    const auto bytes = copy_bytes(first_bytes, "a prompt's state");
    if (!bytes.ok()) return failure(bytes.error());
    const auto added = prompts_->cache().add(name, bytes.value().bytes());
    if (!added.ok()) return failure(added.error());
    const SavedBeginning& beginning = added.value()->beginning;
    val fields = val::object();
    set(fields, "nTokens", to_number(beginning.tokens.size()));
    set(fields, "kv", to_js_kinds(beginning.k_kind, beginning.v_kind));
    return success(fields);
  }

  void remove_prompt(const std::string& name) { prompts_->cache().remove(name); }
  void store_prompts(const val& on_prompt) { prompts_->store_with(on_prompt); }

  val embedding_tokens(const std::string& text, bool cuts, double id) const {
    const Status has_room = check_room_for_tokens(text);
    if (!has_room.ok()) return failure(has_room.error());
    return to_js(kinglet::embedding_tokens(*loaded_, text, too_long(cuts), to_cancellation(id)));
  }

  val ranking_tokens(const std::string& query, const std::string& document, bool cuts,
                     double id) const {
    const Status has_room =
        check_room_for_tokens(query.size() > document.size() ? query : document);
    if (!has_room.ok()) return failure(has_room.error());
    return to_js(
        kinglet::ranking_tokens(*loaded_, query, document, too_long(cuts), to_cancellation(id)));
  }

  // Returns whether the request is valid.
  val encode_texts(const val& request, const val& on_event) const {
    const auto pooling = find_pooling(text(get(request, "pooling")));
    if (!pooling.ok()) return failure(pooling.error());
    Encoding encoding{.texts = {},
                      .pooling = pooling.value(),
                      .n_numbers = from_number<uint32_t>(number(request, "dimensions")),
                      .normalizes = number(request, "normalizes") != 0};
    submit(*runner_, std::move(encoding), get(request, "texts"), number(request, "id"), on_event);
    return success(val::null());
  }

  val new_index(const val& options) const { return kinglet::new_index(loaded_, runner_, options); }

  val new_classifier(const val& request) {
    Classification wanted{.labels = texts(get(request, "labels")),
                          .instruction = text(get(request, "instruction")),
                          .per_token = number(request, "perToken") != 0};
    const val examples = get(request, "examples");
    for (uint32_t i = 0; i < length(examples); ++i) {
      wanted.examples.push_back({text(get(examples[i], "text")), text(get(examples[i], "label"))});
    }
    auto made = Classifier::create(*loaded_, layout(), std::move(wanted));
    if (!made.ok()) return failure(made.error());
    return success(val(
        std::make_shared<EngineClassifier>(loaded_, layout_, runner_, std::move(made.value()))));
  }

  // The pooling that makes one vector of a text.
  val vector_pooling() const {
    const auto pooling = kinglet::vector_pooling(loaded_->model.config());
    return pooling.ok() ? success(val(std::string(pooling_name(pooling.value()))))
                        : failure(pooling.error());
  }

 private:
  // The purpose of the model: "text", "ranking" or "embeddings".
  std::string_view purpose() const {
    const Model& model = loaded_->model;
    if (!model.has_weights() || model.config().makes_text()) return "text";
    return model.config().pooling == Pooling::rank ? "ranking" : "embeddings";
  }

  // The sampling settings that the file recommends.
  val sampling() const {
    const SamplerChoice choice = recommended_sampling(loaded_->model.header());
    val fields = val::object();
    for (const auto& [option, value] : choice.numbers) {
      set(fields, camel_case(option->name).c_str(), value);
    }
    return fields;
  }

  // Returns an empty string if the file has no such metadata.
  [[gnu::noinline]] std::string_view metadata(const char* key) const {
    const auto value = loaded_->model.header().get_string(key, "");
    return value.ok() ? value.value() : "";
  }

  [[gnu::noinline]] std::string spelling(TokenId id) const {
    return replace_ill_formed(loaded_->tokenizer->piece(id, true));  // "" for kNoToken
  }

  // Made when it is first needed: it reads the chat templates.
  const ChatLayout& layout() {
    if (layout_ == nullptr) {
      layout_ = std::make_shared<const ChatLayout>(loaded_->model.header(),
                                                   loaded_->tokenizer->vocabulary(), own_template_);
    }
    return *layout_;
  }

  Result<ReadPrompt> read_prompt(const val& prompt) {
    const ChatLayout* layout = is_conversation(prompt) ? &this->layout() : nullptr;
    return kinglet::read_prompt(prompt, layout, *loaded_->tokenizer, prompts_->is_writable());
  }

  std::shared_ptr<const LanguageModel> loaded_;
  std::shared_ptr<PagePrompts> prompts_;
  std::shared_ptr<Runner> runner_;
  std::string name_;
  std::string own_template_;
  std::shared_ptr<const ChatLayout> layout_;
};

// A file that JavaScript reads on the thread that calls the engine.
class JsFile final : public RandomAccessFile {
 public:
  explicit JsFile(val read) : read_(std::move(read)) {}

  Status read(uint64_t offset, std::span<std::byte> bytes) const override {
    const double address = to_number(reinterpret_cast<uintptr_t>(bytes.data()));
    const std::string problem = text(read_(to_number(offset), address, to_number(bytes.size())));
    return problem.empty() ? Status() : Error{ErrorCode::io, problem};
  }

 private:
  val read_;
};

class LoadableModel final : public Loadable {
 public:
  LoadableModel(const KernelSet& kernels, bool chooses_threads)
      : kernels_(kernels), chooses_threads_(chooses_threads) {}

  Preparable& begin() override { return prepared_.emplace(kernels_); }

  val finish(GgufFile file) override {
    auto model = load(std::move(file));
    return model.ok() ? success(val(model.value())) : failure(model.error());
  }

 private:
  Result<std::shared_ptr<EngineModel>> load(GgufFile file) {
    KINGLET_ASSIGN(LanguageModel loaded,
                   load_language_model(std::move(file), std::move(*prepared_)));
    if (chooses_threads_) KINGLET_TRY(choose_threads(loaded.model, thread_pool()));
    return std::make_shared<EngineModel>(std::make_shared<const LanguageModel>(std::move(loaded)));
  }

  const KernelSet& kernels_;
  const bool chooses_threads_;
  std::optional<PreparedModel> prepared_;
};

// Without exceptions, a small allocation that fails ends the engine. If memory may not grow, this
// one is given to small allocations, so that the next large one reports the error in words.
void* small_memory = std::malloc(size_t{1} << 18);

void give_small_memory() {
  std::free(small_memory);
  small_memory = nullptr;
  std::set_new_handler(nullptr);
}

val new_loader(double file_bytes, const std::string& kernels, bool chooses_threads,
               const val& tables) {
  const auto chosen = choose_kernels(kernels);
  if (!chosen.ok()) return failure(chosen.error());
  std::unique_ptr<const RandomAccessFile> storage;
  StoredChoice choice;
  if (!tables.isUndefined()) {
    storage = std::make_unique<const JsFile>(get(tables, "read"));
    choice = stored_tables(text(get(tables, "place")));
  }
  return success(val(std::make_shared<WeightLoader>(
      file_bytes, std::make_unique<LoadableModel>(*chosen.value(), chooses_threads),
      std::move(storage), choice)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(kinglet) {
  using namespace emscripten;
  std::set_new_handler(give_small_memory);

  class_<EngineModel>("EngineModel")
      .smart_ptr<std::shared_ptr<EngineModel>>("EngineModel")
      .function("info", &EngineModel::info)
      .function("useFileName", &EngineModel::use_file_name)
      .function("useTemplate", &EngineModel::use_template)
      .function("layOut", &EngineModel::lay_out)
      .function("tokens", &EngineModel::tokens)
      .function("decode", &EngineModel::decode)
      .function("piece", &EngineModel::piece)
      .function("pieceBytes", &EngineModel::piece_bytes)
      .function("knowsTools", &EngineModel::knows_tools)
      .function("newAnswer", &EngineModel::new_answer)
      .function("advance", &EngineModel::advance)
      .function("cancel", &EngineModel::cancel)
      .function("newSession", &EngineModel::new_session)
      .function("newRequest", &EngineModel::new_request)
      .function("addPrompt", &EngineModel::add_prompt)
      .function("removePrompt", &EngineModel::remove_prompt)
      .function("storePrompts", &EngineModel::store_prompts)
      .function("embeddingTokens", &EngineModel::embedding_tokens)
      .function("rankingTokens", &EngineModel::ranking_tokens)
      .function("newIndex", &EngineModel::new_index)
      .function("encodeTexts", &EngineModel::encode_texts)
      .function("newClassifier", &EngineModel::new_classifier)
      .function("vectorPooling", &EngineModel::vector_pooling);

  class_<EngineClassifier>("EngineClassifier")
      .smart_ptr<std::shared_ptr<EngineClassifier>>("EngineClassifier")
      .function("labels", &EngineClassifier::labels)
      .function("tokens", &EngineClassifier::tokens)
      .function("classify", &EngineClassifier::classify);

  function("cancelledIds", &cancelled_ids_view);
  function("kernelSets", &kernel_sets);
  function("nPoolThreads", &n_pool_threads);
  function("newLoader", &new_loader);
}

}  // namespace kinglet
