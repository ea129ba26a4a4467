#include "server/serve.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/paths.h"
#include "cli/commands.h"
#include "cli/images.h"
#include "cli/input.h"
#include "cli/picture_file.h"
#include "cli/run.h"
#include "gguf/model_name.h"
#include "server/guard.h"

namespace kinglet::cli {
namespace {

// glibc gives threads heaps of their own, which grow by a page at each system call: a fifth of the
// time that a large request takes.
void use_one_heap() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
#endif
}

// The most pixels of a client's picture: 200 MB. The program's own user may read larger pictures.
constexpr uint64_t kMostPixels = uint64_t{1} << 26;

Result<Picture> decode_sent(const std::string& file, const std::function<bool()>& stops) {
  return decode_picture("a picture", file, {.pixels = kMostPixels, .stops = stops});
}

// Returns the chosen folder, or that of the demo page if the program runs in the project's folder.
std::string page_folder(const ServeOptions& options) {
  if (!options.page.empty()) return options.page;
  std::error_code ignored;
  return std::filesystem::exists("demo/dist/index.html", ignored) ? "demo/dist" : "";
}

Status check_access(const ServeOptions& options) {
  // An empty variable is as if there were none, and then everybody may send requests.
  if (options.api_key.empty() && std::getenv("KINGLET_API_KEY") != nullptr) {
    return Error{ErrorCode::invalid_argument,
                 "KINGLET_API_KEY is empty, expected a key: unset it to need none"};
  }
  if (options.cors.empty() || server::can_be_page_from(options.cors)) return {};
  return Error{ErrorCode::invalid_argument,
               cat("--cors: found ", in_quotes(options.cors),
                   ", expected an origin such as https://example.com, without a path, or *")};
}

// Returns the options of the answers' sessions, and of the store of pages that they share.
server::SchedulerOptions scheduler_options(const ServeOptions& options, SequenceOptions session,
                                           const Model& model) {
  const uint32_t trained = model.config().context_length;
  if (session.n_ctx == 0) session.n_ctx = std::min(trained, kDefaultMaxCtx);
  session.page_positions = std::min(session.page_positions, session.n_ctx);
  const uint64_t usual = uint64_t{session.n_ctx} * options.n_parallel;
  const uint64_t pool = options.pool == 0 ? usual : options.pool;
  return {.session = session,
          .pool_positions = static_cast<uint32_t>(std::min<uint64_t>(pool, UINT32_MAX)),
          .n_parallel = options.n_parallel,
          .n_queue = options.n_queue};
}

}  // namespace

Status serve(const ServeOptions& options) {
  use_one_heap();
  KINGLET_TRY(check_access(options));
  SequenceOptions session;
  KINGLET_ASSIGN(const auto run, load_run(options.run, session));
  const Model& model = run->loaded.model;
  KINGLET_TRY(check_has_weights(model));
  std::unique_ptr<PictureFileReader> reader;
  if (!options.mmproj.empty()) {
    KINGLET_TRY(check_makes_text(model.config()));
    KINGLET_ASSIGN(reader, PictureFileReader::open(options.mmproj, options.run.model, *run));
  }
  server::ServerOptions served;
  served.name = options.name.empty() ? model_name(model.header(), options.run.model) : options.name;
  if (!options.chat_template.empty()) {
    KINGLET_ASSIGN(served.chat_template, read_filled_file(options.chat_template));
  }
  choose_sampling(model, options.sampling, served.sampling);
  KINGLET_TRY(validate(served.sampling, model.config().vocab_size));
  served.scheduler = scheduler_options(options, session, model);
  const uint32_t n_ctx = served.scheduler.session.n_ctx;
  if (options.pool > 0 && options.pool < n_ctx) {
    return Error{ErrorCode::invalid_argument,
                 cat("--pool is ", options.pool, ", expected at least a context: ", n_ctx)};
  }
  std::error_code missing;
  if (!options.page.empty() && !std::filesystem::is_directory(to_path(options.page), missing)) {
    return Error{ErrorCode::io, cat("--page: ", in_quotes(options.page), " is not a folder")};
  }
  served.scheduler.cache = run->cache();
  served.http = {.guard = {options.host, options.api_key, options.cors},
                 .port = options.port,
                 .max_body = options.max_body,
                 .timeout = std::chrono::seconds(options.timeout),
                 // More than the requests that are served or wait: others are refused, or are not
                 // for the model, such as /health.
                 .n_threads = size_t{options.n_parallel} + options.n_queue + 32,
                 .page = page_folder(options)};
  if (reader != nullptr) served.scheduler.pictures = {&reader->model(), decode_sent};
  return server::serve(run->loaded, run->pool, served);
}

}  // namespace kinglet::cli
