// The input is a JSON schema, a NUL, and bytes that choose a way through its grammar. What the
// grammar allows must be JSON that is valid under the schema: that is asked of the other part of
// the compiler, which looks at listed values.
#include "schema/schema.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "fuzz/input.h"
#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "schema/calls.h"

namespace kinglet::fuzz {
namespace {

constexpr size_t kMostLevels = 1000;
constexpr size_t kMostTextBytes = 400;
constexpr size_t kChosenBytes = 100;  // then whatever ends the text is preferred

std::optional<GrammarMatcher> matcher_of(const Json& schema, bool open_objects) {
  auto grammar = grammar_of_schema(schema, {.open_objects = open_objects});
  if (!grammar.ok()) {
    const ErrorCode code = grammar.error().code;
    check(code == ErrorCode::invalid_argument || code == ErrorCode::invalid_grammar,
          "another error than expected");
    check(!grammar.error().message.empty(), "an error without words");
    check(!largest_part_of_schema(schema).empty(), "an error without words");
    return std::nullopt;
  }
  return GrammarMatcher(std::make_shared<const Grammar>(std::move(grammar.value())));
}

// Returns nullopt if the text does not end in time.
std::optional<std::string> draw(GrammarMatcher& matcher, Input& input) {
  std::string text;
  auto state = matcher.start();
  while (text.size() < kMostTextBytes) {
    std::string following;
    std::string ending;
    for (int byte = 0x20; byte < 0x7f; ++byte) {
      const auto c = static_cast<char>(byte);
      if (matcher.next(state, static_cast<uint8_t>(byte)) == GrammarMatcher::kRefused) continue;
      following += c;
      if (std::string_view("\"]}").find(c) != std::string_view::npos) ending += c;
    }
    const bool ends = input.empty() || text.size() > kChosenBytes;
    if (matcher.is_complete(state) && (following.empty() || ends)) return text;
    if (ends && !ending.empty()) following = ending;
    if (following.empty()) return std::nullopt;
    const char c = following[input.up_to(static_cast<uint32_t>(following.size() - 1))];
    text += c;
    state = matcher.next(state, static_cast<uint8_t>(c));
  }
  return std::nullopt;
}

}  // namespace

void schema(Bytes bytes) {
  Input input(bytes);
  const auto end = std::find(bytes.begin(), bytes.end(), uint8_t{0});
  const std::string_view text = input.text(static_cast<size_t>(end - bytes.begin()));
  input.take(1);
  const auto given = parse_json(text, {.depth = kMostLevels});
  if (!given.ok()) return;
  warnings_of_schema(given.value());
  const Json function = {{"name", "f"}, {"parameters", given.value()}};
  check(known_tools(Json::array({Json{{"function", function}}})).ok(), "a tool that is none");
  auto closed = matcher_of(given.value(), false);
  auto open = matcher_of(given.value(), true);
  if (!closed) return;
  const auto drawn = draw(*closed, input);
  if (!drawn) return;
  const auto value = parse_json(*drawn);
  check(value.ok(), cat("an answer that is no JSON: ", *drawn));
  if (!value.ok() || !open) return;
  check(open->is_complete(open->next(open->start(), *drawn)),
        "a closed object that no open one is");
  const Json both = {{"allOf", Json::array({Json{{"const", value.value()}}, given.value()})}};
  const auto again = grammar_of_schema(both);
  const bool is_invalid = !again.ok() && again.error().message.ends_with("no value is valid");
  // References would lead to another root. Lists may have equal items, and objects a name twice.
  const std::string_view unchecked[] = {"$", "uniqueItems", "minProperties"};
  const bool is_unchecked = std::ranges::any_of(
      unchecked, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
  check(is_unchecked || !is_invalid, cat("an answer that is not valid: ", *drawn));
}

}  // namespace kinglet::fuzz
