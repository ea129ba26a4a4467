// Prints the limits of this machine for native code: one JSON object for each kernel set.
// Usage: kinglet_limits BYTES THREADS. All threads together read BYTES in a pass.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "limits/limits.h"

namespace kinglet::limits {
namespace {

constexpr int kRepeats = 5;
constexpr double kSeconds = 0.05;
std::atomic<uint32_t> sink;  // keeps the results alive

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Calls of f per second, the best of several: other work on the machine can only slow it down.
template <class F>
double best_rate(const F& f) {
  double best = 0.0;
  for (int i = 0; i < kRepeats; ++i) {
    const double start = seconds_now();
    double elapsed = 0.0;
    int calls = 0;
    while (elapsed < kSeconds) {
      sink += f();
      ++calls;
      elapsed = seconds_now() - start;
    }
    best = std::max(best, calls / elapsed);
  }
  return best;
}

// The sum of the rates of all threads, which run at the same time. Each thread calls `make` first.
template <class MakeFunction>
double total_rate(size_t n_threads, const MakeFunction& make) {
  std::vector<double> rates(n_threads);
  std::vector<std::thread> threads;
  std::atomic<size_t> n_ready = 0;
  for (size_t i = 0; i < n_threads; ++i) {
    threads.emplace_back([&, i] {
      const auto f = make();
      ++n_ready;
      while (n_ready < n_threads) {
      }
      rates[i] = best_rate(f);
    });
  }
  double total = 0.0;
  for (size_t i = 0; i < n_threads; ++i) {
    threads[i].join();
    total += rates[i];
  }
  return total;
}

// A cache line. Vectors that cross the border of two lines are read at half the speed.
struct alignas(64) Line {
  std::byte bytes[64];
};

std::vector<Line> filled(size_t n_bytes) {
  std::vector<Line> lines(n_bytes / sizeof(Line));
  std::memset(lines.data(), static_cast<int>(kOperandByte), lines.size() * sizeof(Line));
  return lines;
}

const std::byte* bytes_of(const std::vector<Line>& lines) { return lines.data()->bytes; }

double read_rate(const Limits& limits, size_t bytes, size_t n_threads) {
  const size_t share = bytes / n_threads / 1024 * 1024;
  return static_cast<double>(share) * total_rate(n_threads, [&] {
           return [&limits, lines = filled(share), share] {
             return limits.read(bytes_of(lines), share);
           };
         });
}

double multiply_rate(const Multiplication& multiplication, size_t n_threads) {
  constexpr size_t kSteps = 100'000;
  const double calls = total_rate(n_threads, [&] {
    return [&multiplication, operands = filled(kOperandBytes)] {
      return multiplication.run(bytes_of(operands), kSteps);
    };
  });
  return calls * kSteps * multiplication.multiply_adds_per_step;
}

}  // namespace
}  // namespace kinglet::limits

int main(int argc, char** argv) {
  using namespace kinglet::limits;
  if (argc != 3) {
    std::fprintf(stderr, "usage: kinglet_limits BYTES THREADS\n");
    return 1;
  }
  const auto bytes = static_cast<size_t>(std::atoll(argv[1]));
  const auto n_threads = static_cast<size_t>(std::max(1, std::atoi(argv[2])));
  for (const Limits* limits : available_limits()) {
    const auto gmac_s = [&](Operands operands) {
      return multiply_rate(limits->multiply[operands], n_threads) / 1e9;
    };
    std::printf(
        "{\"kernels\":\"%s\",\"threads\":%zu,\"readGbS\":%.2f,"
        "\"gmacS\":{\"nibbles\":%.1f,\"bytes\":%.1f,\"floats\":%.1f}}\n",
        limits->name, n_threads, read_rate(*limits, bytes, n_threads) / 1e9, gmac_s(kNibbles),
        gmac_s(kBytes), gmac_s(kFloats));
  }
  return 0;
}
