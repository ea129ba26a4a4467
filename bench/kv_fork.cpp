// Measures the time of a fork of a session with 2,000 tokens in pages, and how many pages 64 forks
// take that write 16 tokens each. Prints one JSON object. Usage: kinglet_kv_fork MODEL [KIND]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "model/cpu_sequence.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet {
namespace {

constexpr uint32_t kPositions = 2000;
constexpr uint32_t kWritten = 16;
constexpr uint32_t kForks = 64;

double microseconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

// Makes the forks. Returns the median time of a fork.
Result<double> fork_all(const Session& parent, std::vector<std::unique_ptr<Session>>& forks) {
  std::vector<double> times;
  for (uint32_t i = 0; i < kForks; ++i) {
    const double begin = microseconds_now();
    KINGLET_ASSIGN(auto fork, parent.fork());
    times.push_back(microseconds_now() - begin);
    forks.push_back(std::move(fork));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

Status run(const std::string& path, const KvKindInfo& kind) {
  KINGLET_ASSIGN(GgufFile file, read_gguf_file(path));
  KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file)));
  ThreadPool pool;
  KINGLET_ASSIGN(auto store, make_kv_store(loaded.model, kPositions + (2 * kForks + 1) * kWritten,
                                           kDefaultPagePositions, kind.kind, kind.kind));
  const SequenceOptions options{.n_ctx = kPositions + kWritten};
  KINGLET_ASSIGN(const auto parent, Session::create_in(store, loaded.model, pool, options));
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < kPositions; ++i) tokens.push_back(static_cast<TokenId>(300 + i % 1000));
  KINGLET_TRY(parent->append(tokens, Output::none));
  const uint32_t n_pages = store->n_used();

  std::vector<std::unique_ptr<Session>> forks;
  KINGLET_ASSIGN(const double microseconds, fork_all(*parent, forks));
  for (const auto& fork : forks) {
    KINGLET_TRY(fork->append(std::span(tokens).first(kWritten), Output::none));
  }
  std::printf(
      "{\"kv\":\"%s\",\"positions\":%u,\"pagePositions\":%u,\"pages\":%u,\"forkMicroseconds\":%.1f,"
      "\"forks\":%u,\"written\":%u,\"pagesMore\":%u}\n",
      std::string(kind.name).c_str(), kPositions, kDefaultPagePositions, n_pages, microseconds,
      kForks, kWritten, store->n_used() - n_pages);
  return {};
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  const kinglet::KvKindInfo* kind = kinglet::find_kv_kind(argc > 2 ? argv[2] : "int8");
  if (argc < 2 || argc > 3 || kind == nullptr) {
    std::fprintf(stderr, "usage: kinglet_kv_fork MODEL [KIND]\n");
    return 1;
  }
  const kinglet::Status status = kinglet::run(argv[1], *kind);
  if (!status.ok()) std::fprintf(stderr, "kinglet_kv_fork: %s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
