// A server that answers with one model, in the form of OpenAI's API, until it is told to stop.
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

struct ServeOptions {
  std::string name;  // of the model
  SamplerOptions sampling;
  SchedulerOptions scheduler;
  HttpOptions http;
};

// Returns after SIGINT or SIGTERM, when what was begun has ended, or was cut after a while; a
// second signal cuts it at once. ErrorCode::io (the port is taken); those of Scheduler::create.
Status serve(const LanguageModel& loaded, ThreadPool& pool, const ServeOptions& options);

}  // namespace kinglet::server
