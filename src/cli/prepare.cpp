#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "cli/commands.h"
#include "cli/conversation.h"
#include "cli/input.h"
#include "cli/new_file.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "json/json.h"
#include "openai/generation_request.h"
#include "openai/served_model.h"
#include "session/state.h"

namespace kinglet::cli {
namespace {

// Returns a request that begins with what the options name.
Result<Json> read_request(const PrepareOptions& options) {
  std::string system;
  if (!options.system.empty()) {
    KINGLET_ASSIGN(system, read_text_file(options.system));
    // As a shell does for chat --system "$(cat FILE)".
    while (system.ends_with('\n')) system.pop_back();
  }
  Json messages = opening(system);
  if (!options.messages.empty()) {
    KINGLET_ASSIGN(Json list, read_json_file(options.messages));
    if (const Json* inner = list.find("messages")) list = *inner;
    if (!list.is_array()) {
      return Error{ErrorCode::invalid_argument,
                   cat(options.messages, ": expected a list of messages")};
    }
    for (Json& message : list.as_array()) messages.push_back(std::move(message));
  }
  Json request = {{"messages", std::move(messages)}};
  if (!options.tools.empty()) {
    KINGLET_ASSIGN(request["tools"], read_json_file(options.tools));
  }
  return request;
}

Result<std::vector<TokenId>> prompt_of(Json request, std::string_view question,
                                       const openai::ServedModel& model) {
  request["messages"].push_back(message_of("user", question));
  const auto read = openai::read_chat_request(request, model, {});
  if (!read.ok()) return Error{ErrorCode::invalid_argument, read.error().message};
  return read.value().prompts.front().tokens;
}

}  // namespace

Status prepare(const PrepareOptions& options) {
  KINGLET_TRY(check_replaces_own(options.output, kStateMagic));
  KINGLET_ASSIGN(const Json request, read_request(options));
  KINGLET_ASSIGN(const auto run, start_run(options.run));
  Session& session = *run->session;
  KINGLET_ASSIGN(const ChatLayout layout,
                 choose_layout(run->loaded.model.header(), run->loaded.tokenizer->vocabulary(),
                               options.format, options.chat_template));
  const openai::ServedModel model(run->loaded, layout, {.name = {}, .n_ctx = session.n_ctx()});
  // What two conversations have in common that go on differently.
  KINGLET_ASSIGN(std::vector<TokenId> prompt, prompt_of(request, "1", model));
  KINGLET_ASSIGN(const std::vector<TokenId> other, prompt_of(request, "a", model));
  prompt.resize(count_common(prompt, other));
  KINGLET_TRY(session.begin(prompt, {.output = Output::none}));
  ProgressBar bar("Reading");
  while (session.n_left() > 0) {
    KINGLET_TRY(session.advance());
    bar.update(session.n_computed(), prompt.size());
  }
  bar.clear();
  KINGLET_ASSIGN(const AlignedBuffer state, save_computed(session));
  KINGLET_TRY(write_new_file(options.output, state.bytes()));
  std::fprintf(stderr, "%zu tokens, %.1f MB\n", prompt.size(),
               static_cast<double>(state.size()) / 1e6);
  return {};
}

}  // namespace kinglet::cli
