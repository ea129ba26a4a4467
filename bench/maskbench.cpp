// Measures how much of MaskBench the compiler of JSON schemas can do: prints one JSON object with
// the totals. `--list`: before it, one for each schema that fails. See maskbench.mjs.
// Usage: kinglet_maskbench [--list] [CORPUS]; without a file, the corpus comes from stdin.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
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

double quantile(std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

int run_all(std::istream& lines, bool lists) {
  Totals totals;
  while (true) {
    const auto one = maskbench::read_case(lines);
    if (!one.ok()) {
      std::fprintf(stderr, "kinglet_maskbench: %s\n", one.error().message.c_str());
      return 1;
    }
    if (!one.value()) break;
    const Json failure = run(*one.value(), totals);
    if (lists && !failure.is_null()) std::printf("%s\n", print(failure).c_str());
  }
  std::vector<double>& times = totals.milliseconds;
  std::sort(times.begin(), times.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s\n", print(Json{{"schemas", totals.schemas},
                                 {"passing", totals.passing},
                                 {"compileErrors", totals.compile_errors},
                                 {"validRefused", totals.valid_refused},
                                 {"invalidAccepted", totals.invalid_accepted},
                                 {"p50", quantile(times, 0.5)},
                                 {"p99", quantile(times, 0.99)},
                                 {"max", quantile(times, 1)},
                                 {"peakBytes", int64_t{usage.ru_maxrss} * 1024}})
                          .c_str());
  return 0;
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool lists = std::erase(arguments, "--list") > 0;
  if (arguments.empty()) return kinglet::run_all(std::cin, lists);
  std::ifstream file(arguments[0]);
  if (arguments.size() == 1 && file) return kinglet::run_all(file, lists);
  std::fprintf(stderr, "Usage: kinglet_maskbench [--list] [CORPUS]\n");
  return 2;
}
