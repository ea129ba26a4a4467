#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/conversation.h"
#include "cli/images.h"
#include "cli/input.h"
#include "cli/markdown.h"
#include "cli/new_file.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "gguf/model_name.h"
#include "gguf/recipe.h"

namespace kinglet::cli {
namespace {

constexpr char kHelp[] =
    "/system TEXT  begin again with this system message\n"
    "/clear        begin again\n"
    "/file PATH    put a text file before the next message\n"
    "/image PATH   put a picture before it, if the model reads pictures\n"
    "/save PATH    write the conversation as JSON\n"
    "/load PATH    continue a saved conversation\n"
    "/help         show this\n"
    "/exit         end, as Ctrl-D does\n"
    "A line that ends with \\ continues in the next one, and so does all text between two \"\"\".\n"
    "Ctrl-C stops an answer.\n";

// Writes text with the program's own escape sequences.
void show_styled(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Prints an answer. At a terminal, with styles and with thoughts in grey.
class AnswerPrinter {
 public:
  AnswerPrinter() : styles_(writes_to_terminal()) {}

  void print(const AnswerDelta& added) {
    if (!added.thought.empty()) print(added.thought, /*is_thought=*/true);
    if (!added.text.empty()) print(added.text, /*is_thought=*/false);
  }

  void end() {
    if (styles_) show_styled(is_thought_ ? "\x1b[0m" : styler_.end());
    show("\n");
  }

 private:
  void print(std::string_view text, bool is_thought) {
    if (!styles_) return show(text);
    if (is_thought != is_thought_) show_styled(is_thought ? "\x1b[90m" : "\x1b[0m\n\n");
    is_thought_ = is_thought;
    if (is_thought) return show(text);
    show_styled(styler_.push(shown(text)));
  }

  bool styles_;
  bool is_thought_ = false;
  MarkdownStyler styler_;
};

// Prints the calls of the last answer, a line of JSON each.
void print_calls(const Conversation& conversation) {
  const Json& answer = conversation.messages().as_array().back();
  if (!answer.contains("tool_calls")) return;
  for (const Json& call : answer["tool_calls"].as_array()) {
    const Json& function = call["function"];
    show(cat("{\"name\": ", print(function["name"]),
             ", \"arguments\": ", function["arguments"].as_string(), "}\n"));
  }
}

Status answer(Conversation& conversation, std::string_view message,
              const std::vector<std::string>& pictures, const Cancellation& cancellation) {
  ProgressBar bar("Reading");
  AnswerPrinter printer;
  bool in_line = false;  // text was printed, and its line is not ended
  bool has_ended = false;
  const auto end_line = [&] {
    printer.end();
    in_line = false;
    has_ended = true;
  };
  const AnswerListener listener = {
      .on_prompt = [&](uint32_t n_done, uint32_t n) { bar.update(n_done, n); },
      .on_added =
          [&](const AnswerDelta& added) {
            bar.clear();
            in_line = in_line || !added.text.empty() || !added.thought.empty();
            printer.print(added);
          },
      .on_warning =
          [&](std::string_view warning) {
            bar.clear();
            if (in_line) end_line();
            report(warning);
          }};
  KINGLET_TRY(conversation.answer(message, pictures, listener, cancellation));
  bar.clear();
  if (conversation.messages().as_array().back()["role"] != "assistant") return {};
  const bool has_calls = conversation.waiting_call() != nullptr;
  if (in_line || (!has_ended && !has_calls)) end_line();
  print_calls(conversation);
  return {};
}

// Reads picture files, each once. Opens the reader (mmproj) when it reads the first one.
class PictureFiles {
 public:
  PictureFiles(const ChatOptions& options, Run& run) : options_(options), run_(run) {}

  Result<PictureParts> read(const std::string& path, const Cancellation& cancellation) {
    if (const auto known = known_.find(path); known != known_.end()) return known->second;
    if (reader_ == nullptr) {
      KINGLET_ASSIGN(reader_,
                     PictureFileReader::open(options_.images.mmproj, options_.run.model, run_));
    }
    KINGLET_ASSIGN(auto parts, reader_->read(path, cancellation));
    auto shared = std::make_shared<const std::vector<ImagePart>>(std::move(parts));
    known_.emplace(path, shared);
    return shared;
  }

 private:
  const ChatOptions& options_;
  Run& run_;
  std::unique_ptr<PictureFileReader> reader_;
  std::map<std::string, PictureParts> known_;
};

// Handles the lines of the person at the terminal: messages to the model, and commands, which begin
// with a slash.
class Dialogue {
 public:
  Dialogue(Conversation& conversation, PictureFiles& files, std::vector<std::string> pictures)
      : conversation_(conversation), files_(files), pictures_(std::move(pictures)) {}

  // Handles a line. Returns false if the dialogue ends.
  bool take(const std::string& line) {
    Status status;
    if (line == "/exit" || line == "/bye") return false;
    if (line.starts_with('/')) {
      const size_t space = std::min(line.find(' '), line.size());
      status = command(line.substr(0, space), line.substr(std::min(space + 1, line.size())));
    } else if (line.find_first_not_of(" \n") != line.npos) {
      status = answer(conversation_, attached_ + line, pictures_, next_interrupt());
      if (status.ok()) detach();
      ask_for_result();
    }
    if (!status.ok()) report(status.error().message);
    return true;
  }

 private:
  Status command(std::string_view name, const std::string& argument) {
    if (name == "/help" || name == "/?") {
      std::fputs(kHelp, stdout);
      return {};
    }
    if (name == "/clear" || name == "/system") {
      detach();
      KINGLET_TRY(check_utf8("system message", argument));
      conversation_.restart(name == "/system" ? argument : system_message());
      std::printf("A new conversation%s.\n",
                  conversation_.messages().size() > 0 ? " with the system message" : "");
      return {};
    }
    if (name != "/file" && name != "/image" && name != "/save" && name != "/load") {
      return Error{ErrorCode::invalid_argument,
                   cat(in_quotes(name), " is not a command; /help lists the commands")};
    }
    if (argument.empty()) {
      return Error{ErrorCode::invalid_argument, cat(name, " needs the path of a file")};
    }
    if (name == "/save") {
      const std::string text = conversation_.to_json();
      KINGLET_TRY(check_replaces_own(argument, R"({"messages":)"));
      KINGLET_TRY(write_new_file(argument, std::as_bytes(std::span(text))));
      std::printf("Saved %zu messages in %s.\n", conversation_.messages().size(),
                  shown(argument).c_str());
      return {};
    }
    if (name == "/image") {
      KINGLET_TRY(files_.read(argument, next_interrupt()));
      pictures_.push_back(argument);
      std::printf("%zu before the next message.\n", pictures_.size());
      return {};
    }
    KINGLET_ASSIGN(const std::string text, read_text_file(argument));
    if (name == "/load") return load(text);
    attached_ += text + "\n\n";
    return {};
  }

  // Loads a conversation and shows its messages.
  Status load(std::string_view json) {
    KINGLET_TRY(conversation_.from_json(json));
    for (const Json& message : conversation_.messages().as_array()) {
      const std::string& role = message["role"].as_string();
      if (role == "system") continue;
      std::printf("%s%s\n", role == "assistant" ? "" : "> ", shown(text_of(message)).c_str());
    }
    ask_for_result();
    return {};
  }

  // Returns the text of a message, without its pictures.
  static std::string text_of(const Json& message) {
    const Json& content = message["content"];
    if (content.is_string()) return content.as_string();
    std::string text;
    for (size_t i = 0; content.is_array() && i < content.size(); ++i) {
      const std::string* part = content[i].find_string("text");
      if (part != nullptr) text += *part;
    }
    return text;
  }

  // Says which call the next line answers, if one waits.
  void ask_for_result() const {
    const Json* call = conversation_.waiting_call();
    if (call == nullptr) return;
    std::printf("The next line is the result of %s.\n",
                shown((*call)["function"]["name"].as_string()).c_str());
  }

  std::string system_message() const {
    const Json& messages = conversation_.messages();
    const bool has_one = messages.size() > 0 && messages[0]["role"] == "system";
    return has_one ? text_of(messages[0]) : std::string();
  }

  void detach() {
    attached_.clear();
    pictures_.clear();
  }

  Conversation& conversation_;
  PictureFiles& files_;
  std::string attached_;               // text files in front of the next message
  std::vector<std::string> pictures_;  // paths of pictures in front of the next message
};

// Says what the conversation begins with: the model, its memory and how to get help.
void introduce(const Run& run, const std::string& path) {
  const Model& model = run.loaded.model;
  const GgufHeader& header = model.header();
  const auto file_type = header.get_uint("general.file_type", UINT32_MAX);
  const std::string mix(file_type.ok() ? mix_name(file_type.value()) : std::string_view());
  const auto architecture = header.get_string("general.architecture", "");
  const uint64_t bytes = model.weight_bytes() + run.session->bytes().sum();
  std::printf("%s (%s%s), %.1f MB of memory for %u tokens. /help lists the commands.\n",
              in_quotes(model_name(header, path)).c_str(),
              architecture.ok() ? printable(architecture.value()).c_str() : "",
              mix.empty() ? "" : (", " + mix).c_str(), static_cast<double>(bytes) / 1e6,
              run.session->n_ctx());
}

}  // namespace

Status chat(ChatOptions options) {
  KINGLET_ASSIGN(const auto run, start_run(options.run));
  choose_sampling(run->loaded.model, options.sampling, options.generation.sampler);
  KINGLET_ASSIGN(ChatLayout layout,
                 choose_layout(run->loaded.model.header(), run->loaded.tokenizer->vocabulary(),
                               options.format, options.chat_template));
  PictureFiles files(options, *run);
  KINGLET_ASSIGN(Conversation conversation,
                 Conversation::create(*run, std::move(layout), options,
                                      [&](const std::string& path, const Cancellation& stops) {
                                        return files.read(path, stops);
                                      }));
  std::vector<std::string> pictures = options.images.files;
  for (const std::string& path : pictures) KINGLET_TRY(files.read(path, {}));
  MessageReader reader;
  if (!reads_from_terminal()) {
    for (; const auto line = reader.next(); pictures.clear()) {
      KINGLET_TRY(answer(conversation, *line, pictures, {}));
    }
    return {};
  }
  introduce(*run, options.run.model);
  catch_interrupts();
  Dialogue dialogue(conversation, files, std::move(pictures));
  while (const auto line = reader.next()) {
    if (!dialogue.take(*line)) return {};
  }
  std::fputc('\n', stdout);
  return {};
}

Status prompt(const PromptOptions& options) {
  KINGLET_ASSIGN(const GgufFile file, read_model(options.model));
  KINGLET_ASSIGN(const auto tokenizer, Tokenizer::from_gguf(file.header()));
  KINGLET_ASSIGN(const ChatLayout layout, choose_layout(file.header(), tokenizer->vocabulary(),
                                                        options.format, options.chat_template));
  const std::string input = read_input();
  KINGLET_TRY(check_utf8("text", input));
  Json messages = opening(options.system);
  std::string_view role = "user";
  for (const std::string_view content : split_at_nul(input)) {
    messages.push_back(message_of(role, content));
    role = role == "user" ? "assistant" : "user";
  }
  Json variables = {{"messages", messages}, {"add_generation_prompt", true}};
  if (!options.thinking) variables["enable_thinking"] = false;
  KINGLET_ASSIGN(const ChatText laid_out, layout.lay_out(std::move(variables)));
  show(laid_out.text);
  return {};
}

}  // namespace kinglet::cli
