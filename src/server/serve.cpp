#include "server/serve.h"

#include <atomic>
#include <cstdio>
#include <thread>

#include "base/printable.h"
#include "server/stop_signals.h"

namespace kinglet::server {
namespace {

// How long answers may go on after the first signal.
constexpr std::chrono::seconds kTimeToEnd{10};

// How long clients may take to receive the errors of answers that were cut.
constexpr std::chrono::milliseconds kTimeToSendErrors{500};

std::string url_of(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "http://[" + host + "]:" : "http://" + host + ":") + std::to_string(port);
}

// Waits until all requests have ended, the time is up, or another signal comes.
void wait_for_answers(const StopSignals& signals, const Metrics& metrics) {
  const auto deadline = Clock::now() + kTimeToEnd;
  while (metrics.requests > 0 && Clock::now() < deadline) {
    if (signals.wait(std::chrono::milliseconds(50))) return;
  }
}

}  // namespace

Status serve(const LanguageModel& loaded, ThreadPool& pool, const ServerOptions& options) {
  const auto signals = take_stop_signals();
  Metrics metrics;
  const ChatLayout layout(loaded.model.header(), loaded.tokenizer->vocabulary(),
                          options.chat_template);
  if (!options.chat_template.empty()) KINGLET_TRY(layout.check());
  const ServedModel model(loaded, layout,
                          {.name = options.name,
                           .n_ctx = options.scheduler.session.n_ctx,
                           .sampling = options.sampling,
                           .caches_prompts = options.scheduler.cache != nullptr});
  KINGLET_ASSIGN(const auto scheduler, Scheduler::create(loaded, pool, options.scheduler, metrics));
  HttpServer http(options.http, model, *scheduler, metrics);
  KINGLET_ASSIGN(const int port, http.bind());
  std::fprintf(stderr, "kinglet: %s at %s\n", printable(options.name).c_str(),
               url_of(options.http.guard.host, port).c_str());
  std::atomic<bool> has_ended = false;
  std::thread listening([&] {
    http.run();
    has_ended = true;
  });
  while (!has_ended && !signals->wait(std::chrono::milliseconds(200))) {
  }
  std::fprintf(stderr, "kinglet: ending\n");
  http.end();
  wait_for_answers(*signals, metrics);
  http.give_up();
  scheduler->stop();
  const auto deadline = Clock::now() + kTimeToSendErrors;
  while (http.has_connections() && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  http.drop_connections();
  http.stop_listening();
  listening.join();
  return {};
}

}  // namespace kinglet::server
