#include "server/metrics.h"

#include <string_view>

#include "base/format.h"

namespace kinglet::server {
namespace {

void add_head(std::string& out, std::string_view name, std::string_view type,
              std::string_view help) {
  out += cat("# HELP kinglet_", name, " ", help, "\n# TYPE kinglet_", name, " ", type, "\n");
}

void add(std::string& out, std::string_view name, std::string_view type, std::string_view help,
         const Metrics::Counter& value) {
  add_head(out, name, type, help);
  out += cat("kinglet_", name, " ", value.load(std::memory_order_relaxed), "\n");
}

void add(std::string& out, std::string_view name, std::string_view help, const Durations& value) {
  add_head(out, name, "summary", help);
  out += cat("kinglet_", name, "_sum ", value.sum(), "\nkinglet_", name, "_count ", value.count(),
             "\n");
}

}  // namespace

void Durations::add(double seconds) {
  count_.fetch_add(1, std::memory_order_relaxed);
  microseconds_.fetch_add(static_cast<uint64_t>(seconds * 1e6), std::memory_order_relaxed);
}

double Durations::sum() const {
  return static_cast<double>(microseconds_.load(std::memory_order_relaxed)) * 1e-6;
}

void Metrics::count_answer(const std::string& path, int status) {
  const std::scoped_lock lock(mutex_);
  ++answered_[{path, status}];
}

std::string Metrics::print() const {
  std::string out;
  add_head(out, "requests_total", "counter", "Answered requests.");
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, n] : answered_) {
      out += cat("kinglet_requests_total{path=\"", key.first, "\",status=\"", key.second, "\"} ", n,
                 "\n");
    }
  }
  const auto counter = [&](std::string_view name, std::string_view help, const Counter& value) {
    add(out, name, "counter", help, value);
  };
  const auto gauge = [&](std::string_view name, std::string_view help, const Counter& value) {
    add(out, name, "gauge", help, value);
  };
  counter("prompt_tokens_total", "Tokens of prompts.", prompt_tokens);
  counter("cached_tokens_total", "Tokens of prompts that were reused instead of computed.",
          cached_tokens);
  counter("generated_tokens_total", "Generated tokens.", generated_tokens);
  counter("encoded_tokens_total", "Tokens of texts for embeddings and reranking.", encoded_tokens);
  counter("pictures_total", "Pictures that were read (reused ones are not counted).", pictures);
  counter("refused_requests_total", "Requests refused because the queue was full.", refused);
  counter("cancelled_answers_total", "Answers whose client left before their end.", cancelled);
  counter("decoding_steps_total", "Passes through the model for generating tokens.",
          decoding_steps);
  counter("decoded_tokens_total", "Tokens computed by these passes.", decoded_tokens);
  gauge("requests", "Requests that are waiting or being answered.", requests);
  gauge("running_answers", "Answers that are being computed.", running);
  gauge("waiting_answers", "Answers that have not begun yet.", waiting);
  gauge("idle_sessions", "Sessions kept for reuse by prompts with the same beginning.",
        idle_sessions);
  gauge("kv_pages", "Pages of the KV cache.", kv_pages);
  gauge("kv_pages_used", "Pages of the KV cache in use.", kv_pages_used);
  add(out, "first_token_seconds", "Time from the request to the first token.", first_token);
  add(out, "answer_seconds", "Time from the request to the end of the answer.", answers);
  return out;
}

}  // namespace kinglet::server
