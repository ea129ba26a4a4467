// A running server. `server` sends it any bytes, and `request` well-formed requests whose bodies a
// grammar makes. The server answers each, and never says that it failed.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/format.h"
#include "cli/picture_file.h"
#include "fuzz/input.h"
#include "json/json.h"
#include "model/tiny_model.h"
#include "server/http_server.h"
#include "server/sockets.h"
#include "session/language_model.h"
#include "support.h"
#include "vision/vision_model.h"

namespace kinglet::fuzz {
namespace {

constexpr uint32_t kContext = 64;
constexpr uint64_t kMostSentPixels = 1 << 16;
// How long an answer may take. It takes a second of a processor with sanitizers, and on a busy
// machine the server may get little of one.
constexpr std::chrono::seconds kTimeout{60};

// The marks of calls tell the server in which form the model makes them.
constexpr std::string_view kTemplate =
    "{% if tools %}{{ tools | tojson }}<tool_call>{% endif %}"
    "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ m.tool_calls }}\n{% endfor %}"
    "{{ '<think>' if enable_thinking }}";

// Returns the file with a chat template.
::kinglet::Bytes with_template(::kinglet::Bytes file) {
  constexpr size_t kCountAt = 16;
  constexpr size_t kHeaderBytes = 24;
  constexpr size_t kAlignment = 32;  // of the tensors behind
  ::kinglet::Bytes entry;
  append_string(entry, "tokenizer.chat_template");
  append_number(entry, static_cast<uint32_t>(ValueType::string));
  const size_t n_blank =
      kAlignment - (entry.size() + sizeof(uint64_t) + kTemplate.size()) % kAlignment;
  append_string(entry, cat(kTemplate, "{#", std::string(n_blank + kAlignment - 4, ' '), "#}"));
  uint64_t n_entries = 0;
  std::memcpy(&n_entries, &file[kCountAt], sizeof n_entries);
  ++n_entries;
  std::memcpy(&file[kCountAt], &n_entries, sizeof n_entries);
  file.insert(file.begin() + kHeaderBytes, entry.begin(), entry.end());
  return file;
}

LanguageModel load(const ::kinglet::Bytes& bytes) {
  auto file = load_gguf(bytes);
  check(file.ok(), "a fixture cannot be read");
  auto loaded = load_language_model(std::move(file.value()));
  check(loaded.ok(), "a fixture is no model");
  return std::move(loaded.value());
}

VisionModel load_vision() {
  auto file = load_gguf(read_fixture("vision/gemma3.gguf"));
  check(file.ok(), "a fixture cannot be read");
  auto loaded = VisionModel::load(std::move(file.value()), *available_kernels().front());
  check(loaded.ok(), "a fixture reads no pictures");
  return std::move(loaded.value());
}

// A server on a thread, which runs until the program ends.
class RunningServer {
 public:
  RunningServer(const ::kinglet::Bytes& file, bool sees)
      : loaded_(load(file)),
        layout_(loaded_.model.header(), loaded_.tokenizer->vocabulary()),
        model_(loaded_, layout_, {.name = "tiny", .n_ctx = kContext, .sampling = {.seed = 1}}) {
    if (sees) vision_.emplace(load_vision());
    server::SchedulerOptions scheduling{
        .session = {.n_ctx = kContext, .n_batch = 16, .page_positions = 8},
        .pool_positions = 4 * kContext,
        .n_parallel = 2,
        .n_queue = 62};
    if (sees) {
      scheduling.pictures = {
          &*vision_, [](const std::string& sent, const std::function<bool()>& stops) {
            const cli::PictureLimits limits{.pixels = kMostSentPixels, .stops = stops};
            return cli::decode_picture("a picture", sent, limits);
          }};
    }
    auto scheduler = server::Scheduler::create(loaded_, pool_, scheduling, metrics_);
    check(scheduler.ok(), "no scheduler");
    scheduler_ = std::move(scheduler.value());
    server::HttpOptions options;
    options.guard.host = "127.0.0.1";
    options.port = 0;
    options.max_body = 1 << 15;
    options.timeout = kTimeout;
    options.n_threads = 96;
    options.page = fixture_path("chat");
    options.log = nullptr;
    http_ = std::make_unique<server::HttpServer>(options, model_, *scheduler_, metrics_);
    const auto port = http_->bind();
    check(port.ok(), "no free port");
    port_ = port.value();
    thread_ = std::thread([this] { http_->run(); });
  }
  ~RunningServer() {
    http_->end();
    http_->give_up();
    scheduler_->stop();
    http_->drop_connections();
    http_->stop_listening();
    thread_.join();
  }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  int port() const { return port_; }

 private:
  LanguageModel loaded_;
  std::optional<VisionModel> vision_;
  ChatLayout layout_;
  openai::ServedModel model_;
  ThreadPool pool_{1};
  server::Metrics metrics_;
  std::unique_ptr<server::Scheduler> scheduler_;
  std::unique_ptr<server::HttpServer> http_;
  int port_ = 0;
  std::thread thread_;
};

RunningServer& text_server() {
  static RunningServer running(with_template(read_fixture("arch/llama-linear.gguf")), true);
  return running;
}

RunningServer& ranking_server() {
  static RunningServer running(read_fixture("encoder/bert-rerank.gguf"), false);
  return running;
}

// One connection.
class Client {
 public:
  explicit Client(const RunningServer& to) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(to.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
          "the server takes no connection");
  }
  // Resets the connection: a port that waits for late packets could not be used again.
  ~Client() {
    const linger none{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, reinterpret_cast<const char*>(&none), sizeof none);
    server::close_socket(socket_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The server may have answered and closed the connection before it has read everything.
  void send(std::string_view text) { server::send_some(socket_, text.data(), text.size()); }
  void end() { shutdown(socket_, SHUT_WR); }

  // Returns what the server sends, up to the end or about `most` bytes.
  std::string receive(size_t most = SIZE_MAX) {
    using namespace server;  // for poll(), which is the system's or one like it
    std::string text;
    const auto deadline = Clock::now() + kTimeout;
    char buffer[4096];
    while (text.size() < most) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd polled{.fd = socket_, .events = POLLIN, .revents = 0};
      const int found = poll(&polled, 1, std::max(0, static_cast<int>(left.count())));
      if (found < 0 && errno == EINTR) continue;  // the fuzzer's clock
      if (found <= 0) {
        report("the server neither answers nor closes the connection");
        return text;
      }
      const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
      if (n <= 0) return text;
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }

 private:
  socket_t socket_;
};

// Checks an answer: a whole one, or its beginning.
void check_answer(std::string_view answer, bool is_whole) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr std::string_view kInterim = "HTTP/1.1 102 Processing\r\n\r\n";
  while (answer.starts_with(kInterim)) answer.remove_prefix(kInterim.size());
  if (answer.size() < kVersion.size() + 3) return check(!is_whole || answer.empty(), "no status");
  check(answer.starts_with(kVersion), "an answer that is not HTTP");
  const std::string_view status = answer.substr(kVersion.size(), 3);
  check(status != "500", "the server failed");
  if (!is_whole) return;
  const size_t end = answer.find("\r\n\r\n");
  check(end != answer.npos, "an answer without the end of its headers");
  const std::string_view headers = answer.substr(0, end + 2);
  const std::string_view body = answer.substr(end + 4);
  if (body.empty()) return;
  if (headers.find("\r\nContent-Type: application/json\r\n") != headers.npos) {
    check(parse_json(body).ok(), cat("an answer that is not JSON: ", answer));
    check(status == "200" || body.starts_with(R"({"error":{"message":)"), "no error");
  }
}

// --- Requests

// A field with values that a request may give it, some of them wrong.
struct Field {
  std::string_view name;
  std::vector<std::string_view> values;
};

const std::vector<Field> kGenerationFields = {
    {"model", {R"("tiny")", "3"}},
    {"temperature", {"0", "1", "0.5", "2.5", "-1", R"("hot")", "1e300"}},
    {"top_p", {"1", "0.5", "0", "7"}},
    {"min_p", {"0.1", "0"}},
    {"top_k", {"0", "1", "40", "-1", "1.5"}},
    {"repeat_penalty", {"1.1", "0", "1"}},
    {"typical_p", {"0.5", "1", "2"}},
    {"xtc_probability", {"0.5", "1", "-1"}},
    {"xtc_threshold", {"0.1", "0"}},
    {"dry_multiplier", {"0.8", "0", "-1"}},
    {"dry_base", {"1.75", "100", "0"}},
    {"dry_allowed_length", {"2", "0", "1.5"}},
    {"dry_penalty_last_n", {"-1", "0", "9"}},
    {"dry_sequence_breakers", {R"(["\n", ":"])", "[]", R"("a")", R"([""])", "3"}},
    {"repeat_last_n", {"0", "5", "65537"}},
    {"frequency_penalty", {"0.5", "-2", "3"}},
    {"presence_penalty", {"0.5", "-2"}},
    {"logit_bias", {"{}", R"({"5": -100})", R"({"5": 100, "288": 1})", R"({"x": 1})"}},
    {"seed", {"1", "-3", "9223372036854775807", "1.5"}},
    {"stop", {R"("a")", R"(["a", "é"])", R"("")", "[]", "null"}},
    {"n", {"1", "2", "0", "129"}},
    {"stream", {"true", "true", "false", "null", R"("yes")"}},
    {"stream_options", {R"({"include_usage": true})", "{}", "[]", R"({"x": 1})"}},
    {"user", {R"("u")"}},
    {"grammar", {R"("root ::= [a-z]+")", R"("root ::= root")", R"("root ::= \"ab\" | \"c\"")"}},
    {"unknown", {"1", "null"}},
};
const std::vector<Field> kCompletionFields = {
    {"logprobs", {"0", "3", "21", "true"}},
    {"echo", {"true", "false"}},
    {"suffix", {R"("b")"}},
};
const std::vector<Field> kChatFields = {
    {"logprobs", {"true", "false", "1"}},
    {"top_logprobs", {"0", "2", "99"}},
    {"max_completion_tokens", {"1", "5", "0"}},
    {"parallel_tool_calls", {"true", "false"}},
    {"tool_choice",
     {R"("auto")", R"("none")", R"("required")",
      R"({"type": "function", "function": {"name": "f"}})",
      R"({"type": "function", "function": {"name": "unknown"}})", "3"}},
    {"reasoning_effort", {R"("none")", R"("high")", "1"}},
    {"chat_template_kwargs", {R"({"enable_thinking": true})", R"({"tools": 1, "x": [{}]})", "[]"}},
};
const std::vector<Field> kResponseFields = {
    {"instructions", {R"("Be kind.")", "1"}},
    {"include", {R"(["message.output_text.logprobs"])", "[]", "[1]"}},
    {"top_logprobs", {"0", "2", "99"}},
    {"parallel_tool_calls", {"true", "false"}},
    {"reasoning", {R"({"effort": "none", "summary": "auto"})", R"({"x": 1})", "1"}},
    {"truncation", {R"("auto")", R"("x")"}},
    {"background", {"false", "true"}},
    {"previous_response_id", {"null", R"("x")"}},
    {"text",
     {R"({"format": {"type": "json_schema", "name": "s", "schema": {"type": "integer"}}})",
      R"({"format": {"type": "json_object"}, "verbosity": "low"})", R"({"format": 1})"}},
    {"tools", {R"([{"type": "function", "name": "f"}])", R"([{"type": "x"}])", "[]", "[1]"}},
    {"tool_choice",
     {R"("required")", R"({"type": "function", "name": "f"})",
      R"({"type": "allowed_tools", "mode": "auto", "tools": [{"name": "f"}]})", "3"}},
};
const std::vector<Field> kEmbeddingFields = {
    {"model", {R"("tiny")"}},
    {"pooling", {R"("mean")", R"("cls")", R"("last")", R"("none")", R"("rank")", R"("x")", "1"}},
    {"encoding_format", {R"("float")", R"("base64")", R"("x")"}},
    {"dimensions", {"1", "8", "0", "100000"}},
    {"user", {R"("u")"}},
};
const std::vector<Field> kRankingFields = {
    {"model", {R"("tiny")"}},
    {"top_n", {"1", "2", "0", "5000"}},
    {"return_documents", {"true", "false"}},
};

constexpr std::string_view kWords[] = {
    "a",       "Tell me",  "",
    "<think>", "</think>", "<tool_call>{\"name\": \"f\"}</tool_call>",
    "é😀",      "\\u0000",  "\\n\\t\\\"",
    "<s></s>", "{{ x }}"};
constexpr std::string_view kRoles[] = {"user", "system", "assistant", "tool", "developer", ""};
constexpr std::string_view kTypes[] = {"string", "number", "integer", "boolean",
                                       "null",   "array",  "object",  "date"};
constexpr std::string_view kPictures[] = {
    // One pixel, and a picture that is cut off.
    "data:image/"
    "png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/"
    "pLvAAAAAElFTkSuQmCC",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1Pe",
    "data:image/jpeg;base64,/9j/", "data:,", "https://example.com/cat.png"};

// Writes the JSON of a request.
class Body {
 public:
  explicit Body(Input& input) : input_(input) {}

  std::string completion() {
    begin();
    fields(kGenerationFields);
    fields(kCompletionFields);
    limit();
    member("prompt");
    texts_or_tokens();
    return end();
  }

  std::string chat() {
    begin();
    fields(kGenerationFields);
    fields(kChatFields);
    limit();
    if (input_.up_to(3) == 1) tools();
    if (input_.up_to(3) == 1) response_format();
    member("messages");
    list(3, [&] { message(); });
    return end();
  }

  std::string response() {
    begin();
    fields(kGenerationFields);
    fields(kResponseFields);
    member("max_output_tokens");
    add(std::to_string(1 + input_.up_to(kMostTokens - 1)));
    member("input");
    if (input_.flag()) {
      text();
    } else {
      list(4, [&] { item(); });
    }
    return end();
  }

  std::string embeddings() {
    begin();
    fields(kEmbeddingFields);
    member("input");
    texts_or_tokens();
    return end();
  }

  std::string ranking() {
    begin();
    fields(kRankingFields);
    member("query");
    text();
    member("documents");
    list(3, [&] {
      if (input_.flag()) return text();
      add(R"({"text": )");
      text();
      add("}");
    });
    return end();
  }

 private:
  static constexpr int kMostInside = 5;
  static constexpr uint32_t kMostTokens = 6;  // of most answers

  template <class... Parts>
  void add(const Parts&... parts) {
    (text_.append(parts), ...);
  }
  template <size_t n>
  std::string_view one_of(const std::string_view (&words)[n]) {
    return words[input_.up_to(n - 1)];
  }

  void begin() { add("{"); }
  std::string end() {
    add("}");
    return std::move(text_);
  }
  // Begins a member of the innermost object.
  void member(std::string_view name) { add(text_.ends_with('{') ? "" : ", ", "\"", name, "\": "); }

  template <class Write>
  void list(uint32_t most, const Write& write) {
    add("[");
    for (uint32_t n = input_.up_to(most); n > 0; --n) {
      if (!text_.ends_with('[')) add(", ");
      write();
    }
    add("]");
  }

  // Some of the fields, with any of their values or, rarely, any other.
  void fields(const std::vector<Field>& known) {
    for (uint32_t n = input_.up_to(3); n > 0; --n) {
      const Field& field = known[input_.up_to(static_cast<uint32_t>(known.size() - 1))];
      member(field.name);
      const uint32_t choice = input_.up_to(static_cast<uint32_t>(field.values.size()));
      if (choice < field.values.size()) {
        add(field.values[choice]);
      } else {
        value();
      }
    }
  }

  void limit() {
    if (input_.up_to(7) == 1) return;  // up to the end of the context
    member("max_tokens");
    add(std::to_string(1 + input_.up_to(kMostTokens - 1)));
  }

  void text() {
    add("\"", one_of(kWords));
    for (uint32_t n = input_.up_to(8); n > 0; --n) {
      const char c = static_cast<char>(' ' + input_.up_to('~' - ' '));
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    add("\"");
  }

  void texts_or_tokens() {
    const auto token = [&] { add(std::to_string(input_.up_to(300))); };
    switch (input_.up_to(4)) {
      case 0:
        return text();
      case 1:
        return list(8, token);
      case 2:
        return list(3, [&] { list(8, token); });
      case 3:
        return list(3, [&] { text(); });
      default:
        return value();
    }
  }

  // Any JSON.
  void value() {
    constexpr std::string_view kSimple[] = {"null",  "true", "0",    "-1",
                                            "1e999", "0.5",  "\"\"", "18446744073709551616"};
    ++inside_;
    switch (inside_ > kMostInside ? 0 : input_.up_to(4)) {
      case 0:
      case 1:
        add(one_of(kSimple));
        break;
      case 2:
        text();
        break;
      case 3:
        list(3, [&] { value(); });
        break;
      default:
        begin();
        for (uint32_t n = input_.up_to(3); n > 0; --n) {
          member(one_of(kWords));
          value();
        }
        add("}");
    }
    --inside_;
  }

  void message() {
    begin();
    member("role");
    add("\"", one_of(kRoles), "\"");
    switch (input_.up_to(4)) {
      case 0:
        break;
      case 1:
        member("content");
        list(3, [&] { part(); });
        break;
      case 2:
        member("content");
        value();
        break;
      default:
        member("content");
        text();
    }
    if (input_.up_to(5) == 1) {
      member("tool_calls");
      list(2, [&] {
        add(R"({"id": "1", "type": "function", "function": {"name": "f", "arguments": )");
        switch (input_.up_to(2)) {
          case 0:
            add(R"("{\"a\": 1}")");
            break;
          case 1:
            text();
            break;
          default:
            value();
        }
        add("}}");
      });
    }
    for (const std::string_view name : {"name", "tool_call_id", "reasoning_content", "refusal"}) {
      if (input_.up_to(15) != 1) continue;
      member(name);
      text();
    }
    add("}");
  }

  void part() {
    switch (input_.up_to(2)) {
      case 0:
        add(R"({"type": "text", "text": )");
        text();
        break;
      case 1:
        add(R"({"type": "image_url", "image_url": {"url": ")", one_of(kPictures), "\"}");
        break;
      default:
        return value();
    }
    add("}");
  }

  void item() {
    switch (input_.up_to(4)) {
      case 0:
        add(R"({"type": "reasoning", "summary": [{"type": "summary_text", "text": )");
        text();
        return add("}]}");
      case 1:
        add(R"({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"})");
        return;
      case 2:
        add(R"({"type": "function_call_output", "call_id": "1", "output": )");
        value();
        return add("}");
      case 3:
        return message();
      default:
        return value();
    }
  }

  void tools() {
    member("tools");
    list(2, [&] {
      add(R"({"type": "function", "function": {"name": )", input_.flag() ? R"("f")" : R"("g-1")");
      if (input_.flag()) {
        member("parameters");
        schema();
      }
      add("}}");
    });
  }

  void response_format() {
    member("response_format");
    switch (input_.up_to(2)) {
      case 0:
        return add(input_.flag() ? R"({"type": "json_object"})" : R"({"type": "text"})");
      case 1:
        add(R"({"type": "json_schema", "json_schema": {"name": "s", "schema": )");
        schema();
        return add("}}");
      default:
        return value();
    }
  }

  void schema() {
    ++inside_;
    begin();
    if (input_.up_to(7) > 0) {
      member("type");
      if (input_.up_to(7) == 1) {
        list(3, [&] { add("\"", one_of(kTypes), "\""); });
      } else {
        add("\"", one_of(kTypes), "\"");
      }
    }
    for (uint32_t n = input_.up_to(3); n > 0; --n) keyword();
    add("}");
    --inside_;
  }

  void keyword() {
    if (inside_ > kMostInside) return;
    switch (input_.up_to(10)) {
      case 0:
        member("properties");
        begin();
        for (uint32_t n = input_.up_to(3); n > 0; --n) {
          member(one_of(kWords));
          schema();
        }
        return add("}");
      case 1:
        member("required");
        return list(3, [&] { add("\"", one_of(kWords), "\""); });
      case 2:
        member("additionalProperties");
        return input_.flag() ? schema() : add(input_.flag() ? "true" : "false");
      case 3:
        member("items");
        return schema();
      case 4:
        member(input_.flag() ? "minItems" : "maxItems");
        return add(std::to_string(input_.up_to(1000)));
      case 5:
        member("enum");
        return list(3, [&] { value(); });
      case 6:
        member("const");
        return value();
      case 7:
        member("anyOf");
        return list(3, [&] { schema(); });
      case 8:
        member("$ref");
        return add(input_.flag() ? R"("#")" : R"("#/$defs/a")");
      case 9:
        member("$defs");
        add(R"({"a": )");
        schema();
        return add("}");
      default:
        member(one_of(kWords));
        return value();
    }
  }

  Input& input_;
  std::string text_;
  int inside_ = 0;
};

std::string with_headers(std::string_view path, std::string_view body, Input& input) {
  std::string text = cat("POST ", path, " HTTP/1.", input.up_to(7) == 1 ? "0" : "1",
                         "\r\nHost: localhost\r\nContent-Type: application/json\r\n");
  if (input.up_to(7) == 1) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += "Transfer-Encoding: chunked\r\n\r\n";
    while (!body.empty()) {
      const std::string_view piece = body.substr(0, 1 + input.up_to(14));
      text += cat(kDigits.substr(piece.size(), 1), "\r\n", piece, "\r\n");
      body.remove_prefix(piece.size());
    }
    return text + "0\r\n\r\n";
  }
  return text + cat("Content-Length: ", body.size(), "\r\n\r\n", body);
}

}  // namespace

void server(Bytes bytes) {
  Input input(bytes);
  Client client(input.flag() ? text_server() : ranking_server());
  client.send(input.rest_text());
  client.end();  // the server need not wait for more
  check_answer(client.receive(), true);
}

void request(Bytes bytes) {
  Input input(bytes);
  constexpr uint32_t kPaths = 7;
  const uint32_t path = input.up_to(kPaths - 1);
  const bool leaves_early = input.up_to(15) == 1;
  Body body(input);
  Client client(path < 4 || path == 6 ? text_server() : ranking_server());
  client.send(path < 2    ? with_headers("/v1/chat/completions", body.chat(), input)
              : path == 2 ? with_headers("/v1/completions", body.completion(), input)
              : path == 5 ? with_headers("/v1/rerank", body.ranking(), input)
              : path == 6 ? with_headers("/v1/responses", body.response(), input)
                          : with_headers("/v1/embeddings", body.embeddings(), input));
  if (leaves_early) return check_answer(client.receive(input.up_to(255)), false);
  const std::string answer = client.receive();
  check(!answer.empty(), "no answer");
  check_answer(answer, true);
}

}  // namespace kinglet::fuzz
