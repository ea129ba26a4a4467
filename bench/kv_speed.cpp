// Measures memory, prefill and decode speed of each kind of KV cache at several context lengths.
// Prints one JSON object per line: tokens per second of reading all of the context except 32
// tokens, and of decoding these 32.
// Usage: kinglet_kv_speed MODEL KIND,… CONTEXT,… [THREADS [REPEATS [PAGE_POSITIONS]]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/thread_pool.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet {
namespace {

constexpr uint32_t kDecoded = 32;

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

// Tokens without meaning, which do not repeat soon.
std::vector<TokenId> tokens(uint32_t n, uint32_t vocab_size) {
  std::vector<TokenId> ids;
  for (uint32_t i = 0; i < n; ++i) {
    ids.push_back(static_cast<TokenId>(300 + i * 7919u % (vocab_size - 300)));
  }
  return ids;
}

// A session, and the best times of all repeats.
struct Measured {
  const KvKindInfo* kind;
  std::unique_ptr<Session> session;
  double prefill = 1e9;  // seconds
  double decode = 1e9;

  Status repeat(std::span<const TokenId> text) {
    const auto prompt = text.first(text.size() - kDecoded);
    KINGLET_TRY(session->truncate(0));
    auto begin = Clock::now();
    KINGLET_TRY(session->append(prompt));
    prefill = std::min(prefill, seconds_since(begin));
    begin = Clock::now();
    for (const TokenId& token : text.last(kDecoded)) KINGLET_TRY(session->append({&token, 1}));
    decode = std::min(decode, seconds_since(begin));
    return {};
  }

  void print(uint32_t context, size_t n_threads) const {
    KvStoreConfig config = session->sequence().state_here()->rows().store().config();
    config.rows = session->model().state_shape().rows;
    std::printf(
        "{\"kv\":\"%s\",\"context\":%u,\"threads\":%zu,\"bytesPerToken\":%llu,"
        "\"kvBytes\":%llu,\"compression\":%.4f,\"prefill\":%.1f,\"decode\":%.1f}\n",
        std::string(kind->name).c_str(), context, n_threads,
        static_cast<unsigned long long>(config.bytes_per_position()),
        static_cast<unsigned long long>(session->bytes().kv), config.compression(),
        static_cast<double>(context - kDecoded) / prefill, static_cast<double>(kDecoded) / decode);
    std::fflush(stdout);
  }
};

Result<std::vector<const KvKindInfo*>> find_kinds(std::string_view list) {
  std::vector<const KvKindInfo*> kinds;
  for (const std::string& name : split(list)) {
    kinds.push_back(find_kv_kind(name));
    if (kinds.back() == nullptr) {
      return Error{ErrorCode::invalid_argument,
                   cat("KV kind \"", name, "\" is unknown (known: ", kv_kind_names(), ")")};
    }
  }
  return kinds;
}

// The kinds take turns, so that changes of the machine's speed affect all of them.
Status measure(const LanguageModel& loaded, ThreadPool& pool,
               const std::vector<const KvKindInfo*>& kinds, uint32_t context, int n_repeats,
               uint32_t page_positions) {
  std::vector<Measured> all;
  for (const KvKindInfo* kind : kinds) {
    SequenceOptions options;
    options.n_ctx = context;
    options.k_kind = options.v_kind = kind->kind;
    options.page_positions = page_positions;
    KINGLET_ASSIGN(auto session, Session::create(loaded.model, pool, options));
    all.push_back({kind, std::move(session)});
  }
  const auto text = tokens(context, loaded.model.config().vocab_size);
  for (int i = 0; i < n_repeats; ++i) {
    for (Measured& one : all) KINGLET_TRY(one.repeat(text));
  }
  for (const Measured& one : all) one.print(context, pool.n_threads());
  return {};
}

Status run(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  KINGLET_ASSIGN(const auto kinds, find_kinds(argv[2]));
  KINGLET_ASSIGN(GgufFile file, read_gguf_file(argv[1]));
  KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file)));
  ThreadPool pool(static_cast<size_t>(number(4, 1)));
  for (const std::string& word : split(argv[3])) {
    const auto context = static_cast<uint32_t>(std::atoi(word.c_str()));
    if (context <= kDecoded) {
      return Error{ErrorCode::invalid_argument,
                   cat("context \"", word, "\": expected a number above ", kDecoded)};
    }
    KINGLET_TRY(
        measure(loaded, pool, kinds, context, number(5, 3), static_cast<uint32_t>(number(6, 0))));
  }
  return {};
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  if (argc < 4 || argc > 7) {
    std::fprintf(stderr,
                 "usage: kinglet_kv_speed MODEL KIND,… CONTEXT,… [THREADS [REPEATS "
                 "[PAGE_POSITIONS]]]\n");
    return 1;
  }
  const kinglet::Status status = kinglet::run(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "kinglet_kv_speed: %s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
