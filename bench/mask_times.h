// Measures the masks of grammars over a vocabulary: at each token of a case's valid instances, how
// long it takes to find all tokens that may follow, and to check and accept one token.
#pragma once

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/hash.h"
#include "gguf/file.h"
#include "json/json.h"
#include "made_vocabulary.h"
#include "maskbench_corpus.h"
#include "session/constraint.h"
#include "text/tokenizer.h"

namespace kinglet::maskbench {

// The time of this thread only: other programs may run beside.
inline double thread_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

inline double quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
}

class MaskTimes {
 public:
  // `vocabulary`: a GGUF file, or "made".
  static Result<MaskTimes> over(const std::string& vocabulary) {
    std::string path = vocabulary;
    if (vocabulary == "made") {
      path = std::filesystem::temp_directory_path() / cat("kinglet-made-", getpid(), ".gguf");
      KINGLET_TRY(write_made_vocabulary(path));
    }
    auto file = read_gguf_file(path);
    if (vocabulary == "made") std::filesystem::remove(path);
    if (!file.ok()) return file.error();
    MaskTimes times;
    KINGLET_ASSIGN(times.tokenizer_, Tokenizer::from_gguf(file.value().header()));
    times.noise_.assign(static_cast<size_t>(times.tokenizer_->n_tokens()), 1.0f);
    const double start = thread_microseconds();
    (void)times.tokenizer_->index();
    times.index_milliseconds_ = (thread_microseconds() - start) / 1000;
    return times;
  }

  // Follows the valid instances that the grammar accepts.
  void measure(const Case& one) {
    const Compiled compiled = compile(one.schema);
    if (!compiled.grammar.ok()) return;
    GrammarMatcher matcher(compiled.grammar.value());
    for (const Instance& instance : one.instances) {
      size_t at = 0;
      if (!instance.is_valid || !accepts(matcher, instance.text, at)) continue;
      follow(one.name, instance.text, compiled.grammar.value());
    }
  }

  Json report() {
    Json worst = Json::array();
    for (const Mask& mask : worst_) {
      worst.push_back({{"name", mask.name}, {"us", mask.microseconds}, {"after", mask.after}});
    }
    Json out = {{"vocabulary", tokenizer_->n_tokens()},
                {"masks", static_cast<int64_t>(masks_.size())},
                {"indexMs", index_milliseconds_},
                {"allowed", hash_},
                {"mask", summary(masks_)},
                {"step", summary(steps_)}};
    out["worst"] = std::move(worst);
    return out;
  }

 private:
  static constexpr size_t kWorst = 12;

  struct Mask {
    double microseconds;
    std::string name;
    std::string after;  // the end of the text so far
  };

  void follow(const std::string& name, const std::string& text, const SharedGrammar& grammar) {
    const std::vector<TokenId> tokens = tokenizer_->encode(text, {.add_bos = false});
    Constraint constraint(grammar, *tokenizer_, true);
    std::string so_far;
    bool at_start = true;
    for (const TokenId token : tokens) {
      const double start = thread_microseconds();
      const TokenSet& allowed = constraint.allowed();
      const double middle = thread_microseconds();
      std::vector<float> logits = noise_;
      keep_only(allowed, kRefusedLogit, logits);
      hash_ = hash_bytes(std::as_bytes(std::span(logits)), hash_);
      const double checked = thread_microseconds();
      const bool is_allowed = constraint.allows(token);
      if (is_allowed) constraint.accept(token);
      const double end = thread_microseconds();
      masks_.push_back(middle - start);
      steps_.push_back(end - checked);
      add_worst({middle - start, name,
                 so_far.substr(so_far.size() - std::min<size_t>(so_far.size(), 40))});
      if (!is_allowed) return;  // the text ends inside of this token
      tokenizer_->append_text(token, false, at_start, so_far);
    }
  }

  // At most one of each schema.
  void add_worst(Mask mask) {
    const auto same = std::find_if(worst_.begin(), worst_.end(),
                                   [&](const Mask& other) { return other.name == mask.name; });
    if (same != worst_.end()) {
      if (same->microseconds >= mask.microseconds) return;
      worst_.erase(same);
    }
    const auto place = std::find_if(worst_.begin(), worst_.end(), [&](const Mask& other) {
      return other.microseconds < mask.microseconds;
    });
    worst_.insert(place, std::move(mask));
    if (worst_.size() > kWorst) worst_.pop_back();
  }

  static Json summary(std::vector<double>& times) {
    if (times.empty()) return {};
    std::sort(times.begin(), times.end());
    double sum = 0;
    for (const double time : times) sum += time;
    return {{"avg", sum / static_cast<double>(times.size())},
            {"p50", quantile(times, 0.5)},
            {"p99", quantile(times, 0.99)},
            {"max", quantile(times, 1)}};
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<float> noise_;
  std::vector<double> masks_;
  std::vector<double> steps_;
  std::vector<Mask> worst_;
  double index_milliseconds_ = 0;
  uint64_t hash_ = 0;  // of all masks: the same allowed tokens have the same one
};

}  // namespace kinglet::maskbench
