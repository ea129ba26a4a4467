#include "openai/shared_fields.h"

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "session/stop_strings.h"

namespace kinglet::openai {
namespace {

ApiStatus read_sampling(Fields& fields, SamplerOptions& sampler) {
  for (const SamplingOption& option : sampling_options()) {
    const std::string name(option.name);
    std::optional<float> number;
    std::optional<int64_t> whole;
    if (option.is_whole()) {
      KINGLET_TRY(fields.take(name, whole, static_cast<int64_t>(option.least),
                              static_cast<int64_t>(option.most)));
      if (whole) option.set(sampler, static_cast<double>(*whole));
    } else {
      KINGLET_TRY(fields.take(name, number));
      if (!number) continue;
      if (!option.allows(*number)) return wrong_value(name, *fields.find(name), option.range());
      option.set(sampler, *number);
    }
  }
  return fields.take("dry_sequence_breakers", sampler.dry_sequence_breakers);
}

// Reads biases by token id, such as {"50256": -100}.
ApiStatus read_logit_bias(Fields& fields, uint32_t n_tokens, SamplerOptions& sampler) {
  KINGLET_ASSIGN(const Json* biases, fields.take_object("logit_bias"));
  if (biases == nullptr) return {};
  for (const auto& [key, value] : biases->as_object()) {
    const auto token = parse_decimal<TokenId>(key);
    if (!token || *token < 0 || static_cast<uint32_t>(*token) >= n_tokens) {
      return invalid(cat("logit_bias has the key ", print(key), ", expected a token id from 0 to ",
                         n_tokens - 1),
                     "logit_bias");
    }
    std::optional<float> bias;
    const Json one = {{key, value}};  // to look for the key in all of them would take long
    Fields field(one, "logit_bias");
    KINGLET_TRY(field.take(key, bias));
    if (!bias) continue;
    if (std::fabs(*bias) > kMostBias) {
      return wrong_value(field.place_of(key), value, cat(-kMostBias, " to ", kMostBias));
    }
    sampler.logit_bias.push_back({*token, *bias});
  }
  return {};
}

uint64_t random_seed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

ApiStatus read_seed(Fields& fields, GenerationRequest& request) {
  std::optional<int64_t> seed;
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  KINGLET_TRY(fields.take("seed", seed, -kMost, kMost));
  request.has_seed = seed.has_value();
  request.options.sampler.seed = seed ? static_cast<uint64_t>(*seed) : random_seed();
  return {};
}

// Fields of OpenAI's API that matter only to a service, and fields of other servers that ask for
// details of the work or for what happens anyway.
void ignore_what_changes_nothing(Fields& fields) {
  fields.ignore({"metadata", "store", "user", "safety_identifier", "service_tier", "verbosity",
                 "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
                 "prediction"});
  fields.ignore({"cache_prompt", "id_slot", "timings_per_token", "return_progress", "verbose"});
  fields.ignore_if("modalities", {Json::array({"text"})});
  // A parameter of the Responses API, which reads it itself.
  fields.ignore_if("truncation", {"auto", "disabled"});
  fields.ignore_if("min_tokens", {0});
  fields.ignore_if("use_beam_search", {false});
  fields.ignore_if("ignore_eos", {false});
  fields.ignore_if("skip_special_tokens", {true});
  fields.ignore_if("return_tokens", {false});
}

ApiStatus read_stream(Fields& fields, GenerationRequest& request) {
  KINGLET_TRY(fields.take("stream", request.streams));
  KINGLET_ASSIGN(const Json* given, fields.take_object("stream_options"));
  if (given == nullptr) return {};
  Fields options(*given, "stream_options");
  KINGLET_TRY(options.take("include_usage", request.includes_usage));
  options.ignore({"include_obfuscation"});
  return options.check_all_known();
}

bool is_tokens(const Json& value) {
  return value.is_array() && !value.empty() && value[0].is_number();
}

ApiResult<std::vector<TokenId>> read_tokens(const Json& value, TokenId n_tokens) {
  std::vector<TokenId> tokens;
  for (const Json& item : value.as_array()) {
    const auto token = item.is_number() ? item.as_integer() : std::nullopt;
    if (!token || *token < 0 || *token >= n_tokens) {
      return wrong_value(cat("token ", tokens.size()), item, cat("an id from 0 to ", n_tokens - 1));
    }
    tokens.push_back(static_cast<TokenId>(*token));
  }
  return tokens;
}

// Adds to an error which text of the field has it; an index is in a list. That the time is up, for
// example, is not a text's fault.
ApiError error_of_text(ApiError error, const std::string& name, std::optional<size_t> index) {
  if (error.status != 400) return error;
  error.param = name;
  if (index) error.message = cat(name, "[", *index, "]: ", error.message);
  return error;
}

}  // namespace

ApiStatus read_generation_fields(Fields& fields, const ServedModel& model,
                                 GenerationRequest& request) {
  request.model = model.name();
  KINGLET_TRY(fields.take("model", request.model));
  request.options.sampler = model.sampling();
  KINGLET_TRY(read_sampling(fields, request.options.sampler));
  KINGLET_TRY(read_logit_bias(fields, model.model().config().vocab_size, request.options.sampler));
  KINGLET_TRY(read_seed(fields, request));
  KINGLET_TRY(fields.take("stop", request.options.stop));
  std::optional<int64_t> n = 1;
  KINGLET_TRY(fields.take("n", n, 1, kMostChoices));
  request.n_choices = static_cast<uint32_t>(*n);
  KINGLET_TRY(read_stream(fields, request));
  request.options.replaces_context = true;
  ignore_what_changes_nothing(fields);
  return {};
}

ApiStatus check_options(const GenerationRequest& request, const ServedModel& model) {
  if (const Status status = validate(request.options.sampler, model.model().config().vocab_size);
      !status.ok()) {
    return status.error();
  }
  if (const Status stops = StopStrings::check(request.options.stop); !stops.ok()) {
    return invalid(stops.error().message, "stop");
  }
  return {};
}

ApiStatus check_prompt(const std::vector<TokenId>& prompt, const ServedModel& model) {
  if (prompt.empty()) return invalid("the prompt is empty: there is nothing to continue");
  if (prompt.size() > model.n_ctx()) {
    return Error{ErrorCode::prompt_too_long,
                 cat("the prompt has ", prompt.size(), " tokens, but the context has room for ",
                     model.n_ctx())};
  }
  return {};
}

GenerationOptions options_of_choice(const GenerationRequest& request, uint32_t choice) {
  GenerationOptions options = request.options;
  if (choice > 0)
    options.sampler.seed = request.has_seed ? options.sampler.seed + choice : random_seed();
  return options;
}

ApiResult<std::vector<std::vector<TokenId>>> read_texts(
    Fields& fields, const std::string& name, const ServedModel& model, size_t most,
    const std::function<ApiResult<std::vector<TokenId>>(const std::string&)>& encode,
    const std::function<ApiStatus(const std::vector<TokenId>&)>& check) {
  const Json* value = fields.find(name);
  constexpr std::string_view kExpected = "a string, an array of token ids, or an array of either";
  if (value == nullptr) return invalid(cat(name, " is missing, expected ", kExpected), name);
  const bool is_one = value->is_string() || is_tokens(*value);
  if (!is_one && (!value->is_array() || value->empty())) {
    return wrong_value(name, *value, kExpected);
  }
  const std::span<const Json> items =
      is_one ? std::span(value, 1) : std::span<const Json>(value->as_array());
  if (items.size() > most) {
    return invalid(cat(name, " has ", items.size(), " texts, expected at most ", most), name);
  }
  std::vector<std::vector<TokenId>> texts;
  for (const Json& item : items) {
    if (!item.is_string() && !is_tokens(item)) {
      return wrong_item(name, texts.size(), item, "a string or an array of at least one token id");
    }
    const auto index = is_one ? std::nullopt : std::optional(texts.size());
    auto tokens = item.is_string() ? encode(item.as_string())
                                   : read_tokens(item, model.tokenizer().n_tokens());
    if (!tokens.ok()) return error_of_text(tokens.error(), name, index);
    const ApiStatus fits = check(tokens.value());
    if (!fits.ok()) return error_of_text(fits.error(), name, index);
    texts.push_back(std::move(tokens.value()));
  }
  return texts;
}

}  // namespace kinglet::openai
