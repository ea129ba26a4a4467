#include "openai/served_model.h"

#include <utility>

namespace kinglet::openai {

ApiResult<ChatText> ServedModel::lay_out(Json variables, const Json& tools,
                                         const Cancellation& cancellation) const {
  auto text = layout_.lay_out(std::move(variables), tools, cancellation);
  if (!text.ok() && text.error().code == ErrorCode::out_of_memory) {
    return ApiError{.status = 413, .message = text.error().message, .code = "too_large"};
  }
  if (!text.ok() && text.error().code == ErrorCode::invalid_argument) {
    return invalid(text.error().message, "messages");
  }
  if (!text.ok()) return text.error();
  if (options_.trusts_content) text.value().said.clear();
  return std::move(text.value());
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
  return {{"id", name},
          {"object", "model"},
          {"created", 0},
          {"owned_by", "kinglet"},
          {"context_length", n_ctx()},
          {"can_chat", layout_.check().ok()}};
}

}  // namespace kinglet::openai
