// Speed of a model file, natively: prefill of 128 and 512 tokens and 64 tokens of decoding, for
// each kernel set and number of threads. One JSON object a line. Usage: kinglet_speed MODEL
// [KERNELS [THREADS]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/file.h"
#include "session/language_model.h"
#include "session/session.h"

namespace kinglet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPrefills[] = {128, 512};
constexpr size_t kDecoded = 64;
constexpr int kRepeats = 3;

// The best of several: other work on the machine only ever slows a run down.
template <class F>
double best_seconds(const F& f) {
  double best = 1e30;
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = Clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

Status measure(const LanguageModel& loaded, size_t n_threads) {
  ThreadPool pool(n_threads);
  KINGLET_ASSIGN(const auto session, Session::create(loaded.model, pool, {.n_ctx = 1024}));
  Status status;
  const auto append = [&](std::span<const TokenId> tokens) {
    if (status.ok()) status = session->append(tokens);
  };
  const std::vector<TokenId> prompt(kPrefills[1], 300);
  double prefill[2];
  for (size_t i = 0; i < 2; ++i) {
    prefill[i] = best_seconds([&] {
      (void)session->truncate(0);
      append(std::span(prompt).first(kPrefills[i]));
    });
  }
  const double decode = best_seconds([&] {
    (void)session->truncate(0);
    append(std::span(prompt).first(1));
    for (size_t i = 0; i < kDecoded; ++i) append(std::span(prompt).first(1));
  });
  KINGLET_TRY(status);
  const auto rate = [](size_t n, double seconds) { return static_cast<double>(n) / seconds; };
  const double multiply_adds = static_cast<double>(loaded.model.n_parameters());
  std::printf(
      "{\"kernels\":\"%s\",\"threads\":%zu,\"prefill128\":%.1f,\"prefill512\":%.1f,"
      "\"decode64\":%.1f,\"decode_gmac_s\":%.2f,\"decode_gb_s\":%.2f}\n",
      std::string(loaded.model.kernels().name).c_str(), pool.n_threads(),
      rate(kPrefills[0], prefill[0]), rate(kPrefills[1], prefill[1]), rate(kDecoded + 1, decode),
      rate(kDecoded + 1, decode) * multiply_adds / 1e9,
      rate(kDecoded + 1, decode) * static_cast<double>(loaded.model.weight_bytes()) / 1e9);
  return {};
}

Status run(const std::string& path, std::string_view kernels, size_t n_threads) {
  for (const KernelSet* set : available_kernels()) {
    if (!kernels.empty() && set->name != kernels) continue;
    if (kernels.empty() && set == &scalar_kernels()) continue;  // the oracle is not built for speed
    KINGLET_ASSIGN(GgufFile file, read_gguf_file(path));
    KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file), set->name));
    for (const size_t threads : {1u, 2u}) {
      if (n_threads == 0 || threads == n_threads) KINGLET_TRY(measure(loaded, threads));
    }
  }
  return {};
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: kinglet_speed MODEL [KERNELS [THREADS]]\n");
    return 1;
  }
  const auto threads = static_cast<size_t>(argc > 3 ? std::atoi(argv[3]) : 0);
  const kinglet::Status status = kinglet::run(argv[1], argc > 2 ? argv[2] : "", threads);
  if (!status.ok()) std::fprintf(stderr, "kinglet_speed: %s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
