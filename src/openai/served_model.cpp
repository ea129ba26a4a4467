#include "openai/served_model.h"

#include <ctime>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "text/chat_keys.h"

namespace kinglet::openai {
namespace {

std::string metadata(const GgufHeader& header, std::string_view key) {
  auto found = header.get_string(key, "");
  return found.ok() ? std::string(found.value()) : std::string();
}

// The source of the file's template. With tools, the file's template for tools if it has one.
std::string template_source(const GgufHeader& header, bool with_tools) {
  std::string source = with_tools ? metadata(header, kToolTemplateKey) : "";
  return source.empty() ? metadata(header, kChatTemplateKey) : source;
}

// A thread-safe std::localtime().
bool to_local(const std::time_t& time, std::tm& local) {
#if defined(_WIN32)
  return localtime_s(&local, &time) == 0;
#else
  return localtime_r(&time, &local) != nullptr;
#endif
}

jinja::Now local_time() {
  std::tm local{};
  if (!to_local(std::time(nullptr), local)) return {};
  return {local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
          local.tm_hour,        local.tm_min,     local.tm_sec};
}

}  // namespace

ServedModel::ServedModel(const LanguageModel& loaded, std::string name, uint32_t n_ctx,
                         SamplerOptions sampling)
    : loaded_(loaded),
      name_(std::move(name)),
      n_ctx_(n_ctx),
      sampling_(std::move(sampling)),
      template_(ChatTemplate::from_gguf(loaded.model.header(), loaded.tokenizer->vocabulary())),
      template_with_tools_(
          ChatTemplate::from_gguf(loaded.model.header(), loaded.tokenizer->vocabulary(), true)),
      format_(find_answer_format(template_source(loaded.model.header(), false))),
      format_with_tools_(find_answer_format(template_source(loaded.model.header(), true))) {}

ApiResult<ChatText> ServedModel::lay_out(const Json& variables, bool has_tools) const {
  const Result<ChatTemplate>& chosen = has_tools ? template_with_tools_ : template_;
  if (!chosen.ok()) return chosen.error();
  KINGLET_ASSIGN(jinja::Dict given, chat_variables(variables));
  KINGLET_ASSIGN(ChatText text, chosen.value().render(std::move(given), local_time()));
  return text;
}

ApiStatus ServedModel::check_makes_text() const {
  const Status status = kinglet::check_makes_text(model().config());
  if (!status.ok()) return status.error();
  return {};
}

Json ServedModel::list() const {
  return {{"object", "list"}, {"data", Json::array({described_as(name())})}};
}

Json ServedModel::described_as(std::string_view name) const {
  const auto chat_template = model().header().get_string(kChatTemplateKey, "");
  const bool can_chat = chat_template.ok() && !chat_template.value().empty();
  return {{"id", name},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "kinglet"},
          {"context_length", n_ctx()},
          {"can_chat", can_chat}};
}

}  // namespace kinglet::openai
