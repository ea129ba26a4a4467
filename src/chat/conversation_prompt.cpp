#include "chat/conversation_prompt.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "session/image_prompt.h"
#include "text/tool_results.h"

namespace kinglet {
namespace {

constexpr std::pair<std::string_view, OnFull> kNames[] = {
    {"error", OnFull::error}, {"dropOldest", OnFull::drop_oldest}, {"shift", OnFull::shift}};

size_t count(std::string_view text, std::string_view mark) {
  size_t n = 0;
  for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size())) ++n;
  return n;
}

std::vector<MessagePlace> places_of(const Json& list) {
  const auto answered = answered_calls(list);
  std::vector<MessagePlace> places;
  for (size_t i = 0; i < list.size(); ++i) {
    places.push_back({.role = std::string(list[i].text_of("role"))});
    if (answered[i]) places.back().call = answered[i]->message;
  }
  return places;
}

// The messages with these indices, and their pictures.
ChatMessages part_of(const ChatMessages& whole, const std::vector<size_t>& indices) {
  ChatMessages part{.picture_mark = whole.picture_mark};
  size_t n_before = 0;  // pictures
  for (size_t i = 0; i < whole.list.size(); ++i) {
    const Json& message = whole.list[i];
    const size_t n = whole.pictures.empty() ? 0 : count(print(message), whole.picture_mark);
    if (std::binary_search(indices.begin(), indices.end(), i)) {
      part.list.push_back(message);
      const auto first = whole.pictures.begin() + static_cast<ptrdiff_t>(n_before);
      part.pictures.insert(part.pictures.end(), first, first + static_cast<ptrdiff_t>(n));
    }
    n_before += n;
  }
  return part;
}

class PromptMaker {
 public:
  PromptMaker(const LayOut& lay_out, const Tokenizer& tokenizer, const PromptOptions& options)
      : lay_out_(lay_out), tokenizer_(tokenizer), options_(options) {}

  Result<ConversationPrompt> whole(const ChatMessages& messages) const {
    KINGLET_ASSIGN(const ChatText chat, lay_out_(messages.list));
    const auto& pictures = messages.pictures;
    ConversationPrompt prompt{.tokens = {}, .images = {}, .end = std::string(chat.own_end())};
    const EncodeOptions encoding{
        .add_bos = options_.add_bos, .parse_special = true, .cancellation = options_.cancellation};
    if (pictures.empty()) {
      prompt.tokens = tokenizer_.encode(chat.text, encoding, chat.said);
    } else {
      const size_t n_places = count(chat.text, messages.picture_mark);
      if (n_places != pictures.size()) {
        const char* does = n_places < pictures.size() ? "leaves out" : "repeats";
        return Error{ErrorCode::unsupported_feature,
                     cat("the chat template ", does, " a picture of the messages")};
      }
      KINGLET_ASSIGN(ImagePrompt encoded,
                     encode_with_images(tokenizer_, chat.text, chat.said, messages.picture_mark,
                                        pictures, encoding));
      prompt.tokens = std::move(encoded.tokens);
      prompt.images = std::move(encoded.images);
    }
    if (options_.cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    prompt.tokens.insert(prompt.tokens.end(), options_.prefix.begin(), options_.prefix.end());
    return prompt;
  }

  // Leaves out the oldest messages of a conversation that is too long.
  Result<ConversationPrompt> fitted(const ChatMessages& messages,
                                    const std::vector<MessagePlace>& places) const {
    const size_t n_most = room_for_prompt(options_.n_ctx, options_.max_tokens);
    Result<ConversationPrompt> prompt = whole(messages);
    if (!prompt.ok() || prompt.value().tokens.size() <= n_most) return prompt;
    const size_t n_whole = prompt.value().tokens.size();
    const auto kept = fit_messages(
        places, n_most, [&](const std::vector<size_t>& indices) -> std::optional<size_t> {
          if (indices.size() == places.size()) return n_whole;
          prompt = whole(part_of(messages, indices));
          return prompt.ok() ? std::optional(prompt.value().tokens.size()) : std::nullopt;
        });
    if (!kept) return prompt;
    prompt = whole(part_of(messages, *kept));
    if (prompt.ok()) prompt.value().n_dropped = places.size() - kept->size();
    return prompt;
  }

  // How many tokens of the prompt are those of its system messages: it has them in common with the
  // prompt of these messages and an empty question. 0 if the template refuses that.
  uint32_t n_opening(const ChatMessages& messages, const std::vector<MessagePlace>& places,
                     const std::vector<TokenId>& prompt) const {
    Json list = Json::array();
    for (size_t i = 0; i < count_system(places); ++i) list.push_back(messages.list[i]);
    list.push_back({{"role", "user"}, {"content", ""}});
    const auto opening = whole({.list = std::move(list)});
    return opening.ok() ? count_common(opening.value().tokens, prompt) : 0;
  }

 private:
  const LayOut& lay_out_;
  const Tokenizer& tokenizer_;
  const PromptOptions& options_;
};

}  // namespace

std::optional<OnFull> find_on_full(std::string_view name) {
  for (const auto& [known, value] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

void ConversationPrompt::prepare(GenerationOptions& options) {
  options.images = std::move(images);
  options.shifts_context = n_kept.has_value();
  options.n_kept = n_kept.value_or(0);
  options.n_opening = n_opening;
}

Result<ConversationPrompt> make_prompt(const ChatMessages& messages, const LayOut& lay_out,
                                       const Tokenizer& tokenizer, const PromptOptions& options) {
  const PromptMaker maker(lay_out, tokenizer, options);
  const bool fits = options.on_full != OnFull::error;
  if (!messages.list.is_array() || (!fits && !options.counts_opening)) return maker.whole(messages);
  const std::vector<MessagePlace> places = places_of(messages.list);
  KINGLET_ASSIGN(ConversationPrompt prompt,
                 fits ? maker.fitted(messages, places) : maker.whole(messages));
  const bool shifts = options.on_full == OnFull::shift;
  if (!shifts && !options.counts_opening) return prompt;
  prompt.n_opening = maker.n_opening(messages, places, prompt.tokens);
  if (shifts) prompt.n_kept = count_kept(prompt.n_opening, options.n_ctx);
  return prompt;
}

}  // namespace kinglet
