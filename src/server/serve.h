// A server of OpenAI's API with one model, which runs until it is stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "server/http_server.h"
#include "server/scheduler.h"
#include "session/language_model.h"

namespace kinglet::server {

struct ServerOptions {
  std::string name;           // of the model
  std::string chat_template;  // used instead of the file's; "": none
  SamplerOptions sampling;
  SchedulerOptions scheduler;
  HttpOptions http;
};

// Serves until SIGINT or SIGTERM. Then returns when the requests that were begun have ended; those
// that take too long are cut, and a second signal cuts them at once. Errors: io (the port is
// taken); those of Scheduler::create.
Status serve(const LanguageModel& loaded, ThreadPool& pool, const ServerOptions& options);

}  // namespace kinglet::server
