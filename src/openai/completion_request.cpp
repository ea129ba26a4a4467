#include <utility>

#include "openai/generation_request.h"
#include "openai/shared_fields.h"

namespace kinglet::openai {
namespace {

constexpr uint32_t kUsualTokens = 16;

ApiStatus read_prompts(Fields& fields, bool echoes, const ServedModel& model,
                       const Deadline& deadline, GenerationRequest& request) {
  KINGLET_ASSIGN(std::vector<std::vector<TokenId>> prompts,
                 read_texts(
                     fields, "prompt", model, kMostPrompts,
                     [&](const std::string& text) -> ApiResult<std::vector<TokenId>> {
                       KINGLET_TRY(deadline());
                       return model.tokenizer().encode(
                           text, {.parse_special = true, .cancellation = deadline.cancellation});
                     },
                     [&](const auto& tokens) { return check_prompt(tokens, model); }));
  const Json& given = *fields.find("prompt");
  for (size_t i = 0; i < prompts.size(); ++i) {
    GenerationPrompt prompt{std::move(prompts[i]), ""};
    const Json& text = given.is_array() && !given[0].is_number() ? given[i] : given;
    if (echoes && text.is_string()) prompt.echo = text.as_string();
    if (echoes && !text.is_string()) {
      KINGLET_ASSIGN(prompt.echo, model.tokenizer().decode(prompt.tokens));
    }
    request.prompts.push_back(std::move(prompt));
  }
  return {};
}

}  // namespace

ApiResult<GenerationRequest> read_completion_request(const Json& body, const ServedModel& model,
                                                     const Deadline& deadline) {
  KINGLET_TRY(model.check_makes_text());
  GenerationRequest request;
  Fields fields(body);
  KINGLET_TRY(read_generation_fields(fields, model, request));
  bool echoes = false;
  KINGLET_TRY(fields.take("echo", echoes));
  std::optional<int64_t> max_tokens = kUsualTokens;
  KINGLET_TRY(fields.take("max_tokens", max_tokens, echoes ? 0 : 1, UINT32_MAX));
  request.options.max_tokens = static_cast<uint32_t>(*max_tokens);
  std::optional<int64_t> n_logprobs;
  KINGLET_TRY(fields.take("logprobs", n_logprobs, 0, kMaxLogprobs));
  request.options.measures_prompt = echoes && (n_logprobs || max_tokens == 0);
  if (n_logprobs) request.options.n_logprobs = static_cast<uint32_t>(*n_logprobs);
  fields.ignore_if("best_of", {1, request.n_choices});
  fields.ignore_if("suffix", {""});
  std::string grammar;
  KINGLET_TRY(fields.take("grammar", grammar));
  auto parsed = parse_shared_grammar(grammar, model.tokenizer().n_tokens());
  if (!parsed.ok()) {
    ApiError wrong = api_error(parsed.error());
    wrong.param = "grammar";
    return wrong;
  }
  request.answer.grammar = std::move(parsed.value());
  KINGLET_TRY(read_prompts(fields, echoes, model, deadline, request));
  KINGLET_TRY(fields.check_all_known());
  KINGLET_TRY(check_options(request, model));
  return request;
}

}  // namespace kinglet::openai
