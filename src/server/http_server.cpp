#include "server/http_server.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/printable.h"
#include "server/api.h"
#include "server/connection_threads.h"
#include "server/page_files.h"
#include "server/sockets.h"
#include "server/watch.h"
#include "text/chat_keys.h"

namespace kinglet::server {
namespace {

// How long a request may take to arrive, headers and body.
constexpr std::chrono::seconds kTimeToRead{10};

// How long to wait for another request's picture before the deadline is checked.
constexpr std::chrono::milliseconds kTimeToTry{50};

constexpr std::string_view kOtherPaths[] = {"/health", "/metrics"};
constexpr std::string_view kModels = "/models/";  // and the name of one

// The path as metrics call it. An endpoint counts as one, with or without "/v1".
std::string counted_path(std::string_view path) {
  const std::string_view endpoint = endpoint_of(path);
  if (is_among(endpoint, kEndpoints)) return cat("/v1", endpoint);
  if (endpoint == "/models" || endpoint.starts_with(kModels)) return "/v1/models";
  return is_among(path, kOtherPaths) ? std::string(path) : "other";
}

constexpr const char* kJson = "application/json";

// The library does not give handlers the connection. Each thread serves one connection at a time.
thread_local Connection* current_connection = nullptr;

// What the log line says of the request after its status.
thread_local std::string log_details;

void set_json(httplib::Response& response, int status, const std::string& json) {
  response.status = status;
  response.set_content(json, kJson);
}

void set_error(httplib::Response& response, const ApiError& error) {
  if (error.status == 503) response.set_header("Retry-After", "1");
  if (error.status == 401) response.set_header("WWW-Authenticate", "Bearer");
  set_json(response, error.status, to_json(error));
}

// The error for a request that the library refuses by itself.
ApiError library_error(const httplib::Request& request, int status) {
  switch (status) {
    case 404:
      return nothing_at(request.method, request.path);
    case 416:
      return {.status = 416, .message = "the requested range is outside of the file"};
    case 413:
    case 414:
      return {.status = status, .message = "the request is too large", .code = "too_large"};
    case 415:
      return {.status = 415, .message = "the body's Content-Encoding is not supported"};
    default:
      return status < 500
                 ? ApiError{.status = status,
                            .message = "this is not an HTTP request, or its headers are too large"}
                 : ApiError{
                       .status = status, .message = "the server failed", .type = "server_error"};
  }
}

ApiError unavailable(std::string message) {
  return {
      .status = 503, .message = std::move(message), .type = "server_error", .code = "overloaded"};
}

ApiError stopping() { return unavailable("the server is stopping"); }

// "prompt 12 (5 known), answer 30"
std::string usage_text(const Usage& usage) {
  return cat(", prompt ", usage.prompt_tokens, " (", usage.cached_tokens, " known), answer ",
             usage.completion_tokens);
}

// An answer that is sent while it is made. One that is given up is counted before its place is
// free.
struct Streaming {
  std::shared_ptr<Scheduler::Place> place;  // freed before the client learns of the end
  std::shared_ptr<Answering> answering;
  std::vector<Json> chunks;  // made before the stream began
};

// Sends the next chunks as server-sent events. An error is sent as an event too, because the status
// has been sent before.
bool stream_next(Streaming& streaming, httplib::DataSink& sink) {
  Answering& answering = *streaming.answering;
  std::vector<Json> chunks = std::exchange(streaming.chunks, {});
  ApiStatus status;
  if (chunks.empty()) status = answering.advance(chunks);
  const AnswerWriter& writer = answering.answer().writer();
  std::string text;
  for (const Json& chunk : chunks) text += writer.event(chunk);
  const bool ends = !status.ok() || answering.answer().is_done();
  if (!status.ok()) {
    if (status.error().status == 499) return false;
    text += writer.error_event(status.error());
  } else if (ends) {
    text += writer.last_events();
  }
  if (ends) streaming.place = nullptr;
  log_details = usage_text(writer.usage());
  if (!text.empty() && !sink.write(text.data(), text.size())) return false;
  if (ends) sink.done();
  return true;
}

using Preparation = std::function<void(httplib::Request&)>;

// Reads a request and answers it, with the library's function, whose parameters depend on the
// library's version.
[[maybe_unused]] bool process(httplib::Server& server,
                              bool (httplib::Server::*function)(httplib::Stream&, bool, bool&,
                                                                const Preparation&),
                              Connection& connection) {
  bool is_closed = false;
  return (server.*function)(connection, /*close_connection=*/true, is_closed, {});
}

// The same for newer versions, which do not ask the stream for the addresses of both ends.
[[maybe_unused]] bool process(httplib::Server& server,
                              bool (httplib::Server::*function)(httplib::Stream&,
                                                                const std::string&, int,
                                                                const std::string&, int, bool,
                                                                bool&, const Preparation&),
                              Connection& connection) {
  std::string remote_ip;
  std::string local_ip;
  int remote_port = 0;
  int local_port = 0;
  connection.get_remote_ip_and_port(remote_ip, remote_port);
  connection.get_local_ip_and_port(local_ip, local_port);
  bool is_closed = false;
  return (server.*function)(connection, remote_ip, remote_port, local_ip, local_port,
                            /*close_connection=*/true, is_closed, {});
}

}  // namespace

HttpServer::HttpServer(const HttpOptions& options, const ServedModel& model, Scheduler& scheduler,
                       Metrics& metrics)
    : options_(options), model_(model), scheduler_(scheduler), metrics_(metrics) {
  new_task_queue = [this] {
    threads_ = new ConnectionThreads(options_.n_threads, [this] { connections_.drop_idle(); });
    return threads_;  // the library deletes it
  };
  set_idle_interval(0, std::chrono::microseconds(ConnectionThreads::kTick).count());
  set_handlers();
  add_routes();
}

void HttpServer::set_handlers() {
  set_socket_options([](socket_t socket) { switch_on(socket, SOL_SOCKET, kOwnPort); });
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return guard(request, response);
  });
  set_error_handler([](const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    set_error(response, library_error(request, response.status));
  });
  set_exception_handler([](const httplib::Request&, httplib::Response& response,
                           std::exception_ptr) {  // NOLINT(performance-unnecessary-value-param)
    set_error(response, {.status = 500, .message = "the server failed", .type = "server_error"});
  });
  set_logger([this](const httplib::Request& request, const httplib::Response& response) {
    log(request, response);
  });
}

Result<int> HttpServer::bind() {
  const std::string& host = options_.guard.host;
  if (host.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "the host to listen at is empty, expected an address or a name, such as "
                 "127.0.0.1, or 0.0.0.0 for all addresses"};
  }
  const int port = options_.port == 0                  ? bind_to_any_port(host)
                   : bind_to_port(host, options_.port) ? options_.port
                                                       : -1;
  if (port > 0) {
    // The library lets 5 clients wait to be accepted. The system of the next one tries again after
    // seconds.
    ::listen(svr_sock_, SOMAXCONN);
    return port;
  }
  return Error{ErrorCode::io,
               cat("cannot listen at ", host, ", port ", options_.port,
                   ": is the port in use, or the address not one of this machine's?")};
}

void HttpServer::give_up() {
  has_given_up_ = true;
  connections_.drop_waiting();
}

// Replaces the library's function: closes a connection after its answer, so that clients which keep
// connections open do not occupy threads.
bool HttpServer::process_and_close_socket(socket_t socket) {
  Connection connection(socket, std::min(kTimeToRead, options_.timeout));
  const OpenConnections::Known known(connections_, connection);
  threads_->make_room_if_needed();
  current_connection = &connection;
  log_details.clear();
  const bool ok = process(*this, &HttpServer::process_request, connection);
  current_connection = nullptr;
  connection.finish();
  return ok;
}

// --- Paths
// -----------------------------------------------------------------------------------------

void HttpServer::add_routes() {
  Get("/health", [](const httplib::Request&, httplib::Response& response) {
    set_json(response, 200, R"({"status":"ok"})");
  });
  for (const char* path : {"/v1/models", "/models"}) {
    Get(path, [this](const httplib::Request&, httplib::Response& response) {
      set_json(response, 200, print(model_.list()));
    });
  }
  Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(metrics_.print(), "text/plain; version=0.0.4");
  });
  for (const std::string_view endpoint : kEndpoints) {
    for (const char* version : {"/v1", ""}) {
      Post(cat(version, endpoint),
           [this, endpoint](const httplib::Request& request, httplib::Response& response,
                            const httplib::ContentReader& reader) {
             answer_post(endpoint, request, response, reader);
           });
    }
  }
}

// Answers with a file of the page, with the headers that allow it shared memory, and so threads,
// and one that tells the page that its server has the API too. Returns false if there is no such
// file.
bool HttpServer::answer_page(const httplib::Request& request, httplib::Response& response) const {
  if (options_.page.empty() ||
      !serve_file(options_.page, request, current_connection->head().header("Range"), response))
    return false;
  response.set_header("Cross-Origin-Opener-Policy", "same-origin");
  response.set_header("Cross-Origin-Embedder-Policy", "require-corp");
  response.set_header("Cache-Control", "no-cache");
  response.set_header("Kinglet-Server", "v1");
  return true;
}

// Answers GET /v1/models/NAME, for any name. It is not a route of the library, which would
// need a regular expression for it. Returns false if the path is another.
bool HttpServer::answer_model(const httplib::Request& request, httplib::Response& response) const {
  const std::string_view endpoint = endpoint_of(request.path);
  if (request.method != "GET" && request.method != "HEAD") return false;
  if (!endpoint.starts_with(kModels) || endpoint == kModels) return false;
  set_json(response, 200, print(model_.described_as(endpoint.substr(kModels.size()))));
  return true;
}

void HttpServer::answer_post(std::string_view endpoint, const httplib::Request& request,
                             httplib::Response& response, const httplib::ContentReader& reader) {
  const auto received = receive_body(request, reader);
  current_connection->begin_answer();
  if (!received.ok()) return set_error(response, received.error());
  auto place = scheduler_.admit();
  if (!place)
    return set_error(response, unavailable("too many requests are waiting: try again later"));
  Exchange exchange{response, deadline_of(*current_connection),
                    std::make_shared<Scheduler::Place>(std::move(*place))};
  const ApiStatus status = answer(endpoint, received.value(), exchange);
  if (!status.ok()) set_error(response, status.error());
}

httplib::Server::HandlerResponse HttpServer::guard(const httplib::Request& request,
                                                   httplib::Response& response) const {
  add_cors(response);
  const RequestHead& head = current_connection->head();
  if (const auto problem = head.problem()) {
    set_error(response, {.status = 400, .message = *problem});
    return HandlerResponse::Handled;
  }
  // A browser's preflight request, sent before the request of a page. It has no API key.
  const bool is_preflight =
      request.method == "OPTIONS" && may_read(options_.guard, head.header("Origin"));
  if (is_preflight) {
    response.status = 204;
    return HandlerResponse::Handled;
  }
  if (is_ending_) {
    set_error(response, stopping());
    return HandlerResponse::Handled;
  }
  // Without a Host, HTTP/1.1 has been refused.
  std::optional<std::string> host;
  if (head.count("Host") > 0) host = head.header("Host");
  const auto refused =
      refuse(options_.guard, {.path = request.path,
                              .host = std::move(host),
                              .origin = std::string(head.header("Origin")),
                              .authorization = std::string(head.header("Authorization"))});
  if (refused) {
    set_error(response, *refused);
    return HandlerResponse::Handled;
  }
  const bool is_answered = answer_page(request, response) || answer_model(request, response);
  return is_answered ? HandlerResponse::Handled : HandlerResponse::Unhandled;
}

void HttpServer::add_cors(httplib::Response& response) const {
  const RequestHead& head = current_connection->head();
  if (!may_read(options_.guard, head.header("Origin"))) return;
  response.set_header("Access-Control-Allow-Origin", options_.guard.page_from);
  response.set_header("Vary", "Origin");
  response.set_header("Access-Control-Allow-Methods", "GET, POST");
  // The headers that the page is about to send. The library has refused line breaks in them.
  const std::string headers(head.header("Access-Control-Request-Headers"));
  if (!headers.empty()) response.set_header("Access-Control-Allow-Headers", headers);
}

ApiResult<std::string> HttpServer::receive_body(const httplib::Request& request,
                                                const httplib::ContentReader& reader) const {
  if (request.is_multipart_form_data()) return invalid("the body is a form, expected JSON");
  std::string body;
  bool is_too_large = false;
  const bool is_whole = reader([&](const char* data, size_t size) {
    is_too_large = body.size() + size > options_.max_body;
    if (!is_too_large) body.append(data, size);
    return !is_too_large;
  });
  if (is_too_large) {
    return ApiError{.status = 413,
                    .message = cat("the body has more than ", options_.max_body, " bytes"),
                    .code = "too_large"};
  }
  if (is_whole) return body;
  // The library does not say what went wrong.
  if (Clock::now() - current_connection->begin() >= std::min(kTimeToRead, options_.timeout)) {
    return ApiError{.status = 408, .message = "the body did not arrive in time"};
  }
  return invalid(
      "the body is cut or damaged: its Content-Length, its chunks or its Content-Encoding is "
      "wrong");
}

Deadline HttpServer::deadline_of(Connection& connection) const {
  return {.check = [this, &connection, timeout = options_.timeout]() -> ApiStatus {
    if (connection.is_gone())
      return ApiError{.status = 499, .message = "the client closed the connection"};
    if (has_given_up_) return stopping();
    if (Clock::now() - connection.begin() < timeout) return {};
    return ApiError{.status = 504,
                    .message = cat("there was no answer within ", timeout.count(), " s"),
                    .type = "server_error",
                    .code = "timeout"};
  }};
}

// "127.0.0.1 POST /v1/completions 200, prompt 5 (0 known), answer 30, 0.412 s"
void HttpServer::log(const httplib::Request& request, const httplib::Response& response) {
  metrics_.count_answer(counted_path(request.path), response.status);
  if (options_.log == nullptr) return;
  const double seconds =
      current_connection == nullptr ? 0 : seconds_since(current_connection->begin());
  std::fprintf(options_.log, "%s %s %s %d%s, %.3f s\n", request.remote_addr.c_str(),
               in_quotes(request.method).c_str(), in_quotes(request.path).c_str(), response.status,
               log_details.c_str(), seconds);
}

// --- Answers
// ---------------------------------------------------------------------------------------

ApiResult<PictureParts> HttpServer::read_image(const std::string& file, const Deadline& deadline) {
  std::unique_lock lock(open_picture_, std::defer_lock);
  while (!lock.try_lock_for(kTimeToTry)) KINGLET_TRY(deadline());
  ApiStatus waiting;
  auto picture = (*scheduler_.decoder())(file, [&] { return !(waiting = deadline()).ok(); });
  KINGLET_TRY(waiting);
  KINGLET_TRY(deadline());
  if (picture.ok()) return read_picture(scheduler_, std::move(picture.value()), deadline);
  const Error& error = picture.error();
  if (error.code == ErrorCode::out_of_memory) return error;
  return invalid(error.message, "messages");
}

ReadPictures HttpServer::picture_reading(const Deadline& deadline) {
  if (scheduler_.decoder() == nullptr) return {};
  return openai::one_by_one([this, &deadline](const std::string& url) -> ApiResult<PictureParts> {
    KINGLET_ASSIGN(const std::string file, file_of_url(url));
    return read_image(file, deadline);
  });
}

ApiResult<AnswerOrWork> HttpServer::read(std::string_view endpoint, const std::string& body,
                                         const Deadline& deadline) {
  const Watch watch(deadline.check);
  KINGLET_ASSIGN(const Json given, read_body(body, watch.deadline()));
  return read_request(endpoint, given, model_, picture_reading(watch.deadline()), watch.deadline());
}

ApiStatus HttpServer::answer(std::string_view endpoint, const std::string& body,
                             Exchange& exchange) {
  KINGLET_TRY(exchange.deadline());
  KINGLET_ASSIGN(AnswerOrWork asked, read(endpoint, body, exchange.deadline));
  return std::visit([&](auto& what) { return send(std::move(what), exchange); }, asked);
}

ApiStatus HttpServer::send(const Json& answer, Exchange& exchange) {
  set_json(exchange.response, 200, print(answer));
  return {};
}

ApiStatus HttpServer::send(TextAnswer answer, Exchange& exchange) {
  const bool is_stream = answer.is_stream();
  for (const std::string& warning : answer.warnings()) {
    if (options_.log != nullptr) {
      std::fprintf(options_.log, "warning: %s\n", printable(warning).c_str());
    }
  }
  const auto answering =
      std::make_shared<Answering>(scheduler_, metrics_, std::move(answer), exchange.deadline);
  std::vector<Json> chunks;
  if (is_stream) {
    KINGLET_TRY(answering->advance(chunks));  // an error of the first step still sets the status
    exchange.response.set_header("Cache-Control", "no-cache");
    const auto streaming =
        std::make_shared<Streaming>(Streaming{exchange.place, answering, std::move(chunks)});
    const auto next = [streaming](size_t, httplib::DataSink& sink) {
      return stream_next(*streaming, sink);
    };
    constexpr const char* kEvents = "text/event-stream";
    if (current_connection->head().is_http_1_0()) {
      exchange.response.set_content_provider(kEvents, next);  // the connection's end is its end
    } else {
      exchange.response.set_chunked_content_provider(kEvents, next);
    }
    return {};
  }
  ApiStatus status;
  while (status.ok() && !answering->answer().is_done()) status = answering->advance(chunks);
  log_details = usage_text(answering->answer().writer().usage());
  KINGLET_TRY(status);
  return send(answering->answer().writer().whole(), exchange);
}

ApiStatus HttpServer::send(const EncodingWork& work, Exchange& exchange) {
  KINGLET_ASSIGN(const Rows rows, encode(scheduler_, work.encoding, exchange.deadline));
  metrics_.encoded_tokens += count_tokens(work.encoding.texts);
  return send(work.answer(rows), exchange);
}

}  // namespace kinglet::server
