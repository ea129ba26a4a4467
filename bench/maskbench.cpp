// Measures how much of MaskBench the compiler of JSON schemas can do: prints one JSON object with
// the totals. `--list`: before it, one for each schema that fails. See maskbench.mjs.
// `--vocabulary FILE|made`: instead, measures the masks of tokens along the valid instances, over
// the vocabulary of a GGUF file or one that is made up. `--every N`: takes only each Nth schema.
// Usage: kinglet_maskbench [--list] [--vocabulary FILE|made] [--every N] [CORPUS]; without a file,
// the corpus comes from stdin.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "mask_times.h"
#include "maskbench_corpus.h"

namespace kinglet {
namespace {

using maskbench::Case;
using maskbench::Compiled;
using maskbench::Instance;

struct Totals {
  int64_t schemas = 0;
  int64_t passing = 0;
  int64_t compile_errors = 0;
  int64_t valid_refused = 0;  // schemas that refuse a valid instance
  int64_t invalid_accepted = 0;
  std::vector<double> milliseconds = {};  // of compiling, by schema
};

// Runs a case, and returns why it fails; null if it passes.
Json run(const Case& one, Totals& totals) {
  const Compiled compiled = maskbench::compile(one.schema);
  ++totals.schemas;
  totals.milliseconds.push_back(compiled.milliseconds);
  Json failure = {{"name", one.name}, {"ms", compiled.milliseconds}};
  if (!compiled.grammar.ok()) {
    ++totals.compile_errors;
    failure["error"] = compiled.grammar.error().message;
    return failure;
  }
  const size_t n_before = failure.size();
  GrammarMatcher matcher(compiled.grammar.value());
  for (const Instance& instance : one.instances) {
    size_t at = 0;
    const bool is_accepted = maskbench::accepts(matcher, instance.text, at);
    if (is_accepted == instance.is_valid) continue;
    const std::string_view kind = instance.is_valid ? "validRefused" : "invalidAccepted";
    if (failure.contains(kind)) continue;
    failure[kind] = instance.text;
    if (instance.is_valid) failure["at"] = at;
  }
  if (failure.contains("validRefused")) ++totals.valid_refused;
  if (failure.contains("invalidAccepted")) ++totals.invalid_accepted;
  if (failure.size() > n_before) return failure;
  ++totals.passing;
  return {};
}

struct Options {
  bool lists = false;
  std::string vocabulary;
  size_t every = 1;
};

// Calls use(case) for each Nth case.
template <class Use>
Status for_each_case(std::istream& lines, size_t every, Use&& use) {
  for (size_t i = 0;; ++i) {
    KINGLET_ASSIGN(const auto one, maskbench::read_case(lines));
    if (!one) return {};
    if (i % every == 0) use(*one);
  }
}

// Of this program only: getrusage() counts what the program had that started it, too.
int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    int64_t kilobytes = 0;
    if (name == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

Status run_masks(std::istream& lines, const Options& options) {
  KINGLET_ASSIGN(auto times, maskbench::MaskTimes::over(options.vocabulary));
  KINGLET_TRY(for_each_case(lines, options.every, [&](const Case& one) { times.measure(one); }));
  Json report = times.report();
  report["peakBytes"] = peak_bytes();
  std::printf("%s\n", print(report).c_str());
  return {};
}

Status run_all(std::istream& lines, const Options& options) {
  if (!options.vocabulary.empty()) return run_masks(lines, options);
  Totals totals;
  KINGLET_TRY(for_each_case(lines, options.every, [&](const Case& one) {
    const Json failure = run(one, totals);
    if (options.lists && !failure.is_null()) std::printf("%s\n", print(failure).c_str());
  }));
  std::vector<double>& times = totals.milliseconds;
  std::sort(times.begin(), times.end());
  std::printf("%s\n", print(Json{{"schemas", totals.schemas},
                                 {"passing", totals.passing},
                                 {"compileErrors", totals.compile_errors},
                                 {"validRefused", totals.valid_refused},
                                 {"invalidAccepted", totals.invalid_accepted},
                                 {"p50", maskbench::quantile(times, 0.5)},
                                 {"p99", maskbench::quantile(times, 0.99)},
                                 {"max", maskbench::quantile(times, 1)},
                                 {"peakBytes", peak_bytes()}})
                          .c_str());
  return {};
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  kinglet::Options options;
  std::ifstream file;
  bool is_usage = true;
  for (int i = 1; i < argc && is_usage; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--list") {
      options.lists = true;
    } else if (argument == "--vocabulary" && has_value) {
      options.vocabulary = argv[++i];
    } else if (argument == "--every" && has_value) {
      options.every = std::strtoul(argv[++i], nullptr, 10);
    } else {
      file.open(argv[i]);
      is_usage = i + 1 == argc && file;
    }
  }
  if (!is_usage || options.every == 0) {
    std::fprintf(
        stderr,
        "Usage: kinglet_maskbench [--list] [--vocabulary FILE|made] [--every N] [CORPUS]\n");
    return 2;
  }
  const kinglet::Status status =
      kinglet::run_all(file.is_open() ? file : static_cast<std::istream&>(std::cin), options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "kinglet_maskbench: %s\n", status.error().message.c_str());
  return 1;
}
