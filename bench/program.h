// Shared by the programs that measure a model file: their arguments and their output.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/kernels.h"

namespace kinglet {

inline double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Prints ,"name":[1.00,2.00]
inline void print_numbers(const char* name, const std::vector<double>& values) {
  std::printf(",\"%s\":[", name);
  for (size_t i = 0; i < values.size(); ++i) std::printf("%s%.2f", i > 0 ? "," : "", values[i]);
  std::printf("]");
}

// Ends the JSON object with the most memory that the program had.
inline void print_peak_and_end() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(",\"peakBytes\":%ld}\n", usage.ru_maxrss * 1024);
  std::fflush(stdout);
}

// Calls measure(set) with the kernel set of this name. "fastest" means the default set; "" means
// all sets except scalar, the reference, which is not built for speed.
template <class F>
Status for_each_kernel_set(std::string_view name, const F& measure) {
  if (name == "fastest") name = available_kernels().front()->name;
  for (const KernelSet* set : available_kernels()) {
    if (name.empty() ? set != &scalar_kernels() : set->name == name) KINGLET_TRY(measure(*set));
  }
  return {};
}

// Calls measure(threads) with the number of threads; if it is 0, with one and with two threads.
template <class F>
Status for_each_thread_count(size_t n_threads, const F& measure) {
  if (n_threads > 0) return measure(n_threads);
  KINGLET_TRY(measure(1));
  return measure(2);
}

// Calls run(model, kernels, threads, repeats) with the arguments MODEL [KERNELS [THREADS
// [REPEATS]]]. Returns the exit code for main().
template <class F>
int run_program(const char* name, int argc, char** argv, const F& run) {
  if (argc < 2 || argc > 5) {
    std::fprintf(stderr, "usage: %s MODEL [KERNELS [THREADS [REPEATS]]]\n", name);
    return 1;
  }
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  const auto n_threads = static_cast<size_t>(number(3, 0));
  const Status status =
      run(std::string(argv[1]), std::string_view(argc > 2 ? argv[2] : ""), n_threads, number(4, 3));
  if (!status.ok()) std::fprintf(stderr, "%s: %s\n", name, status.error().message.c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace kinglet
