// The server as clients see it: its paths, and what goes over a connection.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "server/answering.h"
#include "server/connection.h"
#include "server/guard.h"
#include "server/metrics.h"
#include "server/scheduler.h"
#include "server/served_model.h"

namespace kinglet::server {

// The picture in the bytes of a file. Any thread calls it.
using Decoder = std::function<Result<Picture>(const std::string& file)>;

struct HttpOptions {
  GuardOptions guard;
  int port = 8080;                    // 0: a free one
  size_t max_body = 0;                // bytes of a request
  std::chrono::seconds timeout{600};  // for an answer, waiting included
  size_t n_threads = 0;               // connections that are served at a time
  std::string page;                   // folder of a page to be served; "": none
  Decoder decode;                     // of pictures, where the model reads such; empty: it does not
};

class HttpServer : private httplib::Server {
 public:
  // All must outlive it.
  HttpServer(const HttpOptions& options, const ServedModel& model, Scheduler& scheduler,
             Metrics& metrics);

  // The port; ErrorCode::io where it is taken.
  Result<int> bind();

  // Serves until end(), then what was begun.
  void run() { listen_after_bind(); }

  // Takes no more connections, and no more requests of those there are. Any thread may call it.
  void end();

 private:
  // What the answer to a POST needs to know.
  struct Exchange {
    const Json& body;
    httplib::Response& response;
    Patience patience;
    std::shared_ptr<Scheduler::Place> place;  // until the answer is sent
  };
  using Answer = std::function<ApiStatus(HttpServer&, Exchange&)>;

  bool process_and_close_socket(socket_t socket) override;

  void set_handlers();
  void add_routes();
  void add_page(const std::string& folder);
  void add_post(const std::string& path, Answer answer);
  HandlerResponse guard(const httplib::Request& request, httplib::Response& response) const;
  void add_cors(const httplib::Request& request, httplib::Response& response) const;
  ApiResult<Json> read_body(const httplib::Request& request,
                            const httplib::ContentReader& reader) const;
  Patience patience_with(const Connection& connection) const;
  void log(const httplib::Request& request, const httplib::Response& response);

  ApiStatus answer_chat(Exchange& exchange);
  ApiStatus answer_completion(Exchange& exchange);
  ApiStatus answer_generation(Exchange& exchange, std::shared_ptr<const GenerationRequest> request,
                              std::unique_ptr<AnswerWriter> writer);
  ApiStatus answer_embeddings(Exchange& exchange);
  ApiStatus answer_rerank(Exchange& exchange);
  ApiResult<PictureJob::Parts> look(const std::string& file, const Patience& patience);
  Json model_list() const;

  const HttpOptions options_;
  const ServedModel& model_;
  Scheduler& scheduler_;
  Metrics& metrics_;
  std::atomic<bool> is_ending_ = false;
  std::timed_mutex open_picture_;  // one is decoded at a time: pixels take far more than files
};

}  // namespace kinglet::server
