#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run.h"
#include "text/chat_template.h"

namespace kinglet::cli {
namespace {

Result<ChatTemplate> choose_template(const GgufHeader& header, const Vocabulary& vocabulary,
                                     const std::string& format, const std::string& path) {
  if (!path.empty()) {
    KINGLET_ASSIGN(const std::string source, read_text_file(path));
    return ChatTemplate::parse(source, vocabulary);
  }
  auto chosen = format.empty() ? ChatTemplate::from_gguf(header, vocabulary)
                               : ChatTemplate::named(format, vocabulary);
  if (!chosen.ok() && format.empty()) {
    chosen.error().message += "; --format NAME or --chat-template FILE chooses one";
  }
  return chosen;
}

jinja::Now local_time() {
  const std::time_t now = std::time(nullptr);
  const std::tm* local = std::localtime(&now);
  if (local == nullptr) return {};
  return {local->tm_year + 1900, local->tm_mon + 1, local->tm_mday,
          local->tm_hour,        local->tm_min,     local->tm_sec};
}

std::vector<ChatMessage> opening(const std::string& system) {
  if (system.empty()) return {};
  return {{ChatRole::system, system}};
}

// A line without its end; false where input has ended.
bool read_line(std::string& line) {
  line.clear();
  int c = std::getchar();
  if (c == EOF) return false;
  for (; c != EOF && c != '\n'; c = std::getchar()) line += static_cast<char>(c);
  return true;
}

class Conversation {
 public:
  Conversation(Run& run, ChatTemplate chat_template, const ChatOptions& options)
      : run_(run),
        template_(std::move(chat_template)),
        options_(options),
        messages_(opening(options.system)) {}

  // Streams the answer to `line`. After an error the conversation is as it was.
  Status answer(const std::string& line) {
    KINGLET_TRY(check_utf8("message", line));
    messages_.push_back({ChatRole::user, line});
    auto text = stream_answer();
    if (!text.ok()) {
      messages_.pop_back();
      return text.error();
    }
    messages_.push_back({ChatRole::assistant, std::move(text.value())});
    return {};
  }

 private:
  Result<std::string> stream_answer() {
    const auto start = Clock::now();
    KINGLET_ASSIGN(ChatText laid_out, template_.render(messages_, {.thinking = options_.thinking,
                                                                   .now = local_time()}));
    if (options_.trust_content) laid_out.said.clear();
    const std::vector<TokenId> prompt = run_.loaded.tokenizer->encode(
        laid_out.text, {.add_bos = true, .parse_special = true}, laid_out.said);
    GenerationOptions options = options_.generation;
    options.replaces_context = true;
    KINGLET_ASSIGN(Generation generation,
                   Generation::start(*run_.session, *run_.loaded.tokenizer, prompt, options));
    const uint32_t n_reused = generation.n_prompt_done();
    std::string answer;
    size_t n_generated = 0;
    uint32_t n_kept = 0;
    for (FinishReason reason = FinishReason::none; reason == FinishReason::none;) {
      KINGLET_ASSIGN(const GenerationStep step, generation.step());
      n_generated += step.token != kNoToken;
      answer += step.text;
      std::fwrite(step.text.data(), 1, step.text.size(), stdout);
      std::fflush(stdout);
      reason = step.finish;
      n_kept = step.n_kept;
    }
    std::fputc('\n', stdout);
    if (options_.show_speed) {
      const std::chrono::duration<double> seconds = Clock::now() - start;
      std::fprintf(stderr,
                   "prompt: %zu tokens, %u of them known; answer: %zu tokens, %u of them guessed; "
                   "%.1f s\n",
                   prompt.size(), n_reused, n_generated, n_kept, seconds.count());
    }
    return answer;
  }

  using Clock = std::chrono::steady_clock;

  Run& run_;
  ChatTemplate template_;
  const ChatOptions& options_;
  std::vector<ChatMessage> messages_;
};

}  // namespace

Status chat(ChatOptions options) {
  KINGLET_TRY(check_utf8("system message", options.system));
  KINGLET_ASSIGN(const auto run, start_run(options.run));
  choose_sampling(run->loaded.model, options.sampling, options.generation.sampler);
  KINGLET_ASSIGN(ChatTemplate chat_template,
                 choose_template(run->loaded.model.header(), run->loaded.tokenizer->vocabulary(),
                                 options.format, options.chat_template));
  Conversation conversation(*run, std::move(chat_template), options);
  const bool at_terminal = isatty(STDIN_FILENO) != 0;
  std::string line;
  while (true) {
    if (at_terminal) std::fputs("> ", stdout);
    std::fflush(stdout);
    if (!read_line(line)) break;
    const Status status = conversation.answer(line);
    if (status.ok()) continue;
    if (!at_terminal) return status;
    std::fprintf(stderr, "kinglet: %s\n", status.error().message.c_str());
  }
  if (at_terminal) std::fputc('\n', stdout);
  return {};
}

Status prompt(const PromptOptions& options) {
  KINGLET_ASSIGN(const GgufFile file, read_gguf_file(options.model));
  KINGLET_ASSIGN(const auto tokenizer, Tokenizer::from_gguf(file.header()));
  KINGLET_ASSIGN(const ChatTemplate chat_template,
                 choose_template(file.header(), tokenizer->vocabulary(), options.format,
                                 options.chat_template));
  const std::string input = read_input();
  std::vector<ChatMessage> messages = opening(options.system);
  ChatRole role = ChatRole::user;
  for (const std::string_view content : split_at_nul(input)) {
    messages.push_back({role, std::string(content)});
    role = role == ChatRole::user ? ChatRole::assistant : ChatRole::user;
  }
  KINGLET_ASSIGN(
      const ChatText laid_out,
      chat_template.render(messages, {.thinking = options.thinking, .now = local_time()}));
  std::fwrite(laid_out.text.data(), 1, laid_out.text.size(), stdout);
  return {};
}

}  // namespace kinglet::cli
