#include "wasm/search.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answers/indexing.h"
#include "search/index.h"
#include "wasm/prompt.h"

namespace kinglet {
namespace {

// The number of UTF-16 units of a text in UTF-8: two for a character of four bytes.
size_t count_utf16(std::string_view text) {
  size_t n = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    n += (byte & 0xc0) != 0x80 ? 1 : 0;
    n += byte >= 0xf0 ? 1 : 0;
  }
  return n;
}

// An EngineDocument.
val to_js(const SearchDocument& document) {
  val fields = val::object();
  set(fields, "id", document.id);
  set(fields, "key", document.key());
  set(fields, "info", document.info);
  set(fields, "nPassages", to_number(document.passages.size()));
  set(fields, "nPending", to_number(document.n_pending()));
  set(fields, "nCharacters", to_number(count_utf16(document.text)));
  return fields;
}

// An EngineHit.
val to_js(const SearchHit& hit) {
  const Passage& passage = hit.document->passages[hit.passage];
  const std::string_view text = hit.document->text;
  const size_t start = count_utf16(text.substr(0, passage.begin));
  val fields = val::object();
  set(fields, "id", hit.document->id);
  set(fields, "score", hit.score);
  set(fields, "start", to_number(start));
  set(fields, "end", to_number(start + count_utf16(passage.of(text))));
  set(fields, "text", passage.of(text));
  return fields;
}

class EngineIndex {
 public:
  EngineIndex(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
              SearchIndex index)
      : loaded_(std::move(loaded)),
        runner_(std::move(runner)),
        index_(std::make_shared<SearchIndex>(std::move(index))) {}

  val settings() const {
    val fields = val::object();
    set(fields, "queryPrompt", index_->prompts().query);
    set(fields, "passagePrompt", index_->prompts().passage);
    set(fields, "pooling", pooling_name(index_->pooling()));
    set(fields, "dimensions", index_->n_numbers());
    return fields;
  }

  val put(const std::string& id, const std::string& content, const std::string& info,
          double call) const {
    const Status has_room = check_room_for_tokens(content);
    if (!has_room.ok()) return failure(has_room.error());
    return described(index_->put(id, content, info, to_cancellation(call)));
  }

  val load(const val& record) const {
    const auto bytes = copy_bytes(record, "a document of a search index");
    if (!bytes.ok()) return failure(bytes.error());
    return described(index_->load(bytes.value().bytes()));
  }

  void remove(const std::string& id) const { index_->remove(id); }

  val record(const std::string& id) const {
    const auto record = index_->record(id);
    if (!record.ok()) return failure(record.error());
    const auto* data = reinterpret_cast<const uint8_t*>(record.value().data());
    return success(to_js_array<uint8_t>("Uint8Array", {data, record.value().size()}));
  }

  val content(const std::string& id) const {
    const SearchDocument* document = index_->find(id);
    return document == nullptr ? val::undefined() : val(document->text);
  }

  // Computes pending passages of a document; the event is their number.
  val compute(const std::string& id, double limit, double call, const val& on_event) const {
    return submit(indexing_job(*index_, id, from_number<size_t>(limit), to_cancellation(call),
                               [on_event, index = index_](const Result<size_t>& done) {
                                 on_event(done.ok() ? success(val(to_number(done.value())))
                                                    : failure(done.error()));
                               }));
  }

  // The event is a list of EngineHits. `among`: ids; undefined: all documents.
  val search(const std::string& query, double limit, bool with_words, const val& among, double call,
             const val& on_event) const {
    SearchQuery wanted{.limit = from_number<size_t>(limit)};
    if (!among.isUndefined()) {
      std::vector<std::string> ids = texts(among);
      std::sort(ids.begin(), ids.end());
      wanted.allows = [ids = std::move(ids)](const SearchDocument& document) {
        return std::binary_search(ids.begin(), ids.end(), document.id);
      };
    }
    return submit(query_job(*index_, query, to_cancellation(call),
                            [=, index = index_](const Result<Rows>& rows) mutable {
                              if (!rows.ok()) return void(on_event(failure(rows.error())));
                              wanted.vector = rows.value().front();
                              if (with_words) wanted.words = query;
                              on_event(hits_of(index->search(wanted)));
                            }));
  }

 private:
  static val described(const Result<const SearchDocument*>& document) {
    return document.ok() ? success(to_js(*document.value())) : failure(document.error());
  }

  static val hits_of(const Result<std::vector<SearchHit>>& hits) {
    if (!hits.ok()) return failure(hits.error());
    val list = val::array();
    for (const SearchHit& hit : hits.value()) list.call<void>("push", to_js(hit));
    return success(list);
  }

  val submit(Result<EncodingJob> job) const {
    if (!job.ok()) return failure(job.error());
    runner_->submit(std::move(job.value()));
    return success(val::null());
  }

  std::shared_ptr<const LanguageModel> loaded_;
  std::shared_ptr<Runner> runner_;
  std::shared_ptr<SearchIndex> index_;
};

}  // namespace

val new_index(std::shared_ptr<const LanguageModel> loaded, std::shared_ptr<Runner> runner,
              const val& options) {
  const auto prompt = [&](const char* name) {
    const val given = get(options, name);
    return given.isUndefined() ? std::nullopt : std::optional(text(given));
  };
  SearchOptions wanted{.model_name = text(get(options, "modelName")),
                       .query_prompt = prompt("queryPrompt"),
                       .passage_prompt = prompt("passagePrompt"),
                       .n_numbers = from_number<uint32_t>(number(options, "dimensions")),
                       .max_tokens = from_number<uint32_t>(number(options, "passageTokens"))};
  if (const auto pooling = prompt("pooling")) {
    const auto found = find_pooling(*pooling);
    if (!found.ok()) return failure(found.error());
    wanted.pooling = found.value();
  }
  auto index = SearchIndex::create(*loaded, wanted);
  if (!index.ok()) return failure(index.error());
  return success(val(std::make_shared<EngineIndex>(std::move(loaded), std::move(runner),
                                                   std::move(index.value()))));
}

EMSCRIPTEN_BINDINGS(kinglet_search) {
  using namespace emscripten;

  class_<EngineIndex>("EngineIndex")
      .smart_ptr<std::shared_ptr<EngineIndex>>("EngineIndex")
      .function("settings", &EngineIndex::settings)
      .function("put", &EngineIndex::put)
      .function("load", &EngineIndex::load)
      .function("remove", &EngineIndex::remove)
      .function("record", &EngineIndex::record)
      .function("content", &EngineIndex::content)
      .function("compute", &EngineIndex::compute)
      .function("search", &EngineIndex::search);
}

}  // namespace kinglet
