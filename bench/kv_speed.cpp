// Prefill and decode speed for each kind of KV cache at several context lengths, one JSON object a
// line. Usage: kinglet_kv_speed MODEL KIND,… CONTEXT,… [THREADS [PAGE_POSITIONS]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/thread_pool.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet {
namespace {

constexpr uint32_t kDecoded = 16;
constexpr int kRepeats = 3;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

// Tokens of no meaning, and no two of them the same for long.
std::vector<TokenId> tokens(uint32_t n, uint32_t vocab_size) {
  std::vector<TokenId> ids;
  for (uint32_t i = 0; i < n; ++i) {
    ids.push_back(static_cast<TokenId>(300 + i * 7919u % (vocab_size - 300)));
  }
  return ids;
}

Status measure(const LanguageModel& loaded, ThreadPool& pool, const KvKindInfo& kind,
               uint32_t context, uint32_t page_positions) {
  SessionOptions options;
  options.n_ctx = context + kDecoded;
  options.k_kind = kind.kind;
  options.v_kind = kind.kind;
  options.page_positions = page_positions;
  KINGLET_ASSIGN(const auto session, Session::create(loaded.model, pool, options));
  const auto prompt = tokens(context, loaded.model.config().vocab_size);
  double prefill = 1e9;
  double decode = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    KINGLET_TRY(session->truncate(0));
    auto begin = Clock::now();
    KINGLET_TRY(session->append(prompt));
    prefill = std::min(prefill, seconds_since(begin));
    begin = Clock::now();
    for (uint32_t t = 0; t < kDecoded; ++t) KINGLET_TRY(session->append({&prompt[t], 1}));
    decode = std::min(decode, seconds_since(begin));
  }
  std::printf("{\"kv\":\"%s\",\"context\":%u,\"threads\":%zu,\"prefill\":%.1f,\"decode\":%.1f}\n",
              std::string(kind.name).c_str(), context, pool.n_threads(),
              static_cast<double>(context) / prefill, static_cast<double>(kDecoded) / decode);
  std::fflush(stdout);
  return {};
}

Status run(int argc, char** argv) {
  KINGLET_ASSIGN(GgufFile file, read_gguf_file(argv[1]));
  KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file)));
  ThreadPool pool(static_cast<size_t>(argc > 4 ? std::atoi(argv[4]) : 1));
  for (const std::string& context : split(argv[3])) {
    for (const std::string& name : split(argv[2])) {
      const KvKindInfo* kind = find_kv_kind(name);
      if (kind == nullptr) {
        return Error{ErrorCode::invalid_argument,
                     cat("KV kind \"", name, "\" is unknown (known: ", kv_kind_names(), ")")};
      }
      KINGLET_TRY(measure(loaded, pool, *kind, static_cast<uint32_t>(std::stoul(context)),
                          static_cast<uint32_t>(argc > 5 ? std::atoi(argv[5]) : 0)));
    }
  }
  return {};
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) {
    std::fprintf(stderr,
                 "usage: kinglet_kv_speed MODEL KIND,… CONTEXT,… [THREADS [PAGE_POSITIONS]]\n");
    return 1;
  }
  const kinglet::Status status = kinglet::run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "kinglet_kv_speed: %s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
