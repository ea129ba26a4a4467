// kinglet index and kinglet search. Documents are stored in the files of a folder, KEY.kpassages,
// as the npm package stores them in Node.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answers/indexing.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/paths.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/folder.h"
#include "cli/input.h"
#include "cli/new_file.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "gguf/model_name.h"
#include "json/json.h"
#include "search/index.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecordExtension = ".kpassages";

// Passages that are computed before the progress is shown.
constexpr size_t kBatch = 16;

std::string record_path(const std::string& folder, const SearchDocument& document) {
  return to_utf8(to_path(folder) / to_path(cat(document.key(), kRecordExtension)));
}

// An index in a folder, with the model that makes its vectors.
struct StoredIndex {
  std::unique_ptr<EncoderRun> run;
  SearchIndex index;
};

Result<StoredIndex> open_index(const IndexOptions& options) {
  KINGLET_ASSIGN(auto run, start_encoder(options.encoder));
  SearchOptions wanted = options.search;
  wanted.model_name = model_name(run->loaded.model.header(), options.encoder.model);
  KINGLET_ASSIGN(SearchIndex index, SearchIndex::create(run->loaded, wanted));
  std::error_code error;
  if (!fs::exists(to_path(options.index), error))
    return StoredIndex{std::move(run), std::move(index)};
  KINGLET_ASSIGN(const auto paths, files_with_extension(to_path(options.index), kRecordExtension));
  for (const fs::path& path : paths) {
    KINGLET_ASSIGN(const std::string record, read_file(to_utf8(path)));
    const auto loaded = index.load(std::as_bytes(std::span(record.data(), record.size())));
    if (!loaded.ok()) {
      report(cat(in_quotes(to_utf8(path)), " is ignored: ", loaded.error().message));
    }
  }
  return StoredIndex{std::move(run), std::move(index)};
}

// Whether the bytes are a text in UTF-8, without the control characters that texts do not have.
bool is_text(std::string_view bytes) {
  const auto is_foreign = [](char c) { return (c >= 0 && c < 8) || (c > 13 && c < 26); };
  return std::none_of(bytes.begin(), bytes.end(), is_foreign) &&
         find_ill_formed(bytes) == std::string::npos;
}

void report_left_out(std::string_view id, std::string_view reason) {
  report(cat(in_quotes(id), " is left out: ", reason));
}

// Returns the files below a folder by their paths in it, with "/". Leaves out names that begin with
// a dot, and links: they may lead out of the folder. Reports folders that cannot be read, and names
// that are not UTF-8: an index has only text. Errors: io.
Result<std::map<std::string, fs::path>> files_below(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  std::error_code error;
  constexpr auto kSkips = fs::directory_options::skip_permission_denied;
  for (auto it = fs::recursive_directory_iterator(folder, kSkips, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const bool is_hidden = to_utf8(it->path().filename()).starts_with(".");
    std::error_code unknown;
    std::string id = to_utf8(it->path().lexically_relative(folder));
    std::replace(id.begin(), id.end(), static_cast<char>(fs::path::preferred_separator), '/');
    if (is_hidden || it->is_symlink(unknown)) {
      if (it->is_directory(unknown)) it.disable_recursion_pending();
    } else if (it->is_directory(unknown)) {
      std::error_code denied;
      const fs::directory_iterator opened(it->path(), denied);
      if (denied) report_left_out(id, cat("it cannot be read: ", denied.message()));
    } else if (it->is_regular_file(unknown)) {
      if (find_ill_formed(id) != std::string::npos) {
        report_left_out(id, "its name is not UTF-8");
      } else {
        files.emplace(std::move(id), it->path());
      }
    }
  }
  if (!error) return files;
  return Error{ErrorCode::io,
               cat("cannot read the folder ", in_quotes(to_utf8(folder)), ": ", error.message())};
}

// Computes the pending passages of a document, and stores it.
Status complete(StoredIndex& stored, const std::string& folder, const std::string& id,
                ProgressBar& bar) {
  const size_t n_all = stored.index.find(id)->n_pending();
  size_t n_done = 0;
  for (Result<size_t> last = kBatch; last.value() > 0;) {
    bar.update(n_done, n_all);
    KINGLET_ASSIGN(EncodingJob job, indexing_job(stored.index, id, kBatch, {},
                                                 [&](const Result<size_t>& done) { last = done; }));
    stored.run->encoding.run(std::move(job));
    if (!last.ok()) return last.error();
    n_done += last.value();
  }
  KINGLET_ASSIGN(const AlignedBuffer record, stored.index.record(id));
  return write_new_file(record_path(folder, *stored.index.find(id)), record.bytes());
}

}  // namespace

Status index(const IndexOptions& options) {
  KINGLET_ASSIGN(const auto files, files_below(to_path(options.folder)));
  KINGLET_TRY(make_folder(options.index));
  KINGLET_ASSIGN(StoredIndex stored, open_index(options));
  ProgressBar bar("Indexing");
  size_t n_changed = 0;
  for (const auto& [id, path] : files) {
    auto read = read_file(to_utf8(path));
    if (!read.ok()) {
      report_left_out(id, read.error().message);
      continue;
    }
    std::string text = std::move(read.value());
    if (!is_text(text)) {
      report_left_out(id, "it is not a text in UTF-8");
      continue;
    }
    const SearchDocument* known = stored.index.find(id);
    if (known != nullptr && known->text == text && known->n_pending() == 0) continue;
    const auto put = stored.index.put(id, std::move(text), "{}");
    if (!put.ok()) return Error{put.error().code, cat(in_quotes(id), ": ", put.error().message)};
    KINGLET_TRY(complete(stored, options.index, id, bar));
    ++n_changed;
  }
  bar.clear();
  std::vector<std::string> gone;
  size_t n_passages = 0;
  for (const auto& [id, document] : stored.index.documents()) {
    if (!files.contains(id)) gone.push_back(id);
  }
  for (const std::string& id : gone) {
    std::error_code error;
    fs::remove(to_path(record_path(options.index, *stored.index.find(id))), error);
    stored.index.remove(id);
  }
  for (const auto& [id, document] : stored.index.documents())
    n_passages += document.passages.size();
  std::fprintf(stderr, "%zu documents with %zu passages: %zu new or changed, %zu removed\n",
               stored.index.documents().size(), n_passages, n_changed, gone.size());
  return {};
}

Status search(const SearchCommandOptions& options) {
  std::error_code error;
  if (!fs::is_directory(to_path(options.index.index), error)) {
    return Error{ErrorCode::io, cat("there is no index in ", in_quotes(options.index.index),
                                    ": make one with kinglet index")};
  }
  KINGLET_ASSIGN(StoredIndex stored, open_index(options.index));
  if (stored.index.documents().empty()) {
    report(cat("the index in ", in_quotes(options.index.index), " has no documents"));
  }
  size_t n_pending = 0;
  for (const auto& [id, document] : stored.index.documents()) n_pending += document.n_pending();
  if (n_pending > 0) {
    report(cat(n_pending, n_pending == 1 ? " passage has" : " passages have",
               " no vector for this model, prompt and passage size, and cannot be found: "
               "run kinglet index with the same options"));
  }
  Status status;
  KINGLET_ASSIGN(EncodingJob job,
                 query_job(stored.index, options.query, {}, [&](const Result<kinglet::Rows>& rows) {
                   status = rows.ok() ? Status() : rows.error();
                   if (!rows.ok()) return;
                   const auto hits = stored.index.search(
                       {.vector = rows.value().front(),
                        .limit = options.limit,
                        .words = options.hybrid ? std::string_view(options.query) : ""});
                   if (!hits.ok()) status = hits.error();
                   if (!hits.ok()) return;
                   for (const SearchHit& hit : hits.value()) {
                     const Passage& passage = hit.document->passages[hit.passage];
                     const Json line = {{"id", hit.document->id},
                                        {"score", static_cast<double>(hit.score)},
                                        {"start", passage.begin},
                                        {"end", passage.end},
                                        {"text", passage.of(hit.document->text)}};
                     std::printf("%s\n", print(line).c_str());
                   }
                 }));
  stored.run->encoding.run(std::move(job));
  return status;
}

}  // namespace kinglet::cli
