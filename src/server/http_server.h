// The HTTP server: its paths, and what it reads from and writes to connections.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "server/answering.h"
#include "server/api.h"
#include "server/connection.h"
#include "server/guard.h"
#include "server/metrics.h"
#include "server/open_connections.h"
#include "server/scheduler.h"

namespace kinglet::server {

struct HttpOptions {
  GuardOptions guard;
  int port = 8080;                    // 0: a free one
  size_t max_body = 0;                // most bytes of a request's body
  std::chrono::seconds timeout{600};  // for an answer, with the time it waits
  size_t n_threads = 0;               // connections that are served at a time
  std::string page;                   // folder of a page to be served; "": none
  std::FILE* log = stderr;            // gets a line for each request; null: no log
};

class ConnectionThreads;

class HttpServer : private httplib::Server {
 public:
  // The model, the scheduler and the metrics must outlive the server.
  HttpServer(const HttpOptions& options, const ServedModel& model, Scheduler& scheduler,
             Metrics& metrics);

  // Starts to listen, and returns the port. Errors: invalid_argument (no host); io (the port is
  // taken, or the host is not this machine's).
  Result<int> bind();

  // Serves until stop_listening().
  void run() { listen_after_bind(); }

  // The next five may be called on any thread, in this order.

  // Refuses further requests. Those that were begun are still answered.
  void end() { is_ending_ = true; }
  // Gives up the requests that are not answered yet: their clients get an error.
  void give_up();
  // Whether clients are still connected.
  bool has_connections() { return !connections_.empty(); }
  // Drops the connections that are still open.
  void drop_connections() { connections_.drop_all(); }
  // Ends run(). The library cuts answers that are still sent.
  void stop_listening() { stop(); }

 private:
  // What the handler of a POST needs to answer it.
  struct Exchange {
    httplib::Response& response;
    Deadline deadline;
    std::shared_ptr<Scheduler::Place> place;  // held until the answer is sent
  };

  bool process_and_close_socket(socket_t socket) override;

  void set_handlers();
  void add_routes();
  bool answer_page(const httplib::Request& request, httplib::Response& response) const;
  bool answer_model(const httplib::Request& request, httplib::Response& response) const;
  void answer_post(std::string_view endpoint, const httplib::Request& request,
                   httplib::Response& response, const httplib::ContentReader& reader);
  HandlerResponse guard(const httplib::Request& request, httplib::Response& response) const;
  void add_cors(httplib::Response& response) const;
  ApiResult<std::string> receive_body(const httplib::Request& request,
                                      const httplib::ContentReader& reader) const;
  Deadline deadline_of(Connection& connection) const;
  ApiResult<AnswerOrWork> read(std::string_view endpoint, const std::string& body,
                               const Deadline& deadline);
  void log(const httplib::Request& request, const httplib::Response& response);

  ApiStatus answer(std::string_view endpoint, const std::string& body, Exchange& exchange);
  ApiStatus send(const Json& answer, Exchange& exchange);
  ApiStatus send(TextAnswer answer, Exchange& exchange);
  ApiStatus send(const EncodingWork& work, Exchange& exchange);
  ReadPictures picture_reading(const Deadline& deadline);
  ApiResult<PictureParts> read_image(const std::string& file, const Deadline& deadline);

  const HttpOptions options_;
  const ServedModel& model_;
  Scheduler& scheduler_;
  Metrics& metrics_;
  OpenConnections connections_;
  ConnectionThreads* threads_ = nullptr;  // while the server runs
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> has_given_up_ = false;
  std::timed_mutex open_picture_;  // one picture is decoded at a time: pixels take much memory
};

}  // namespace kinglet::server
