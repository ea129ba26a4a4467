// Tells which texts the grammars of JSON schemas allow, and draws some: for tests that compare
// schemas with other libraries. Reads lines of {"schema", "texts", "draws", "seed", "open": whether
// objects are; default true}, and writes for each a line {"allowed": a list of booleans, "drawn": a
// list of texts} or {"error": a message}.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "json/json.h"
#include "schema/schema.h"

namespace kinglet {
namespace {

constexpr size_t kMostLevels = 1000;
constexpr size_t kMostBytes = 600;        // of a drawn text
constexpr size_t kShortAfterBytes = 150;  // then what ends strings and lists is much more likely

// The characters of drawn texts: all of ASCII, and some of two to four bytes.
std::vector<std::string> characters() {
  std::vector<std::string> all = {"é", "ß", "Ω", "汉", "🐝", "👍"};
  for (char c = ' '; c < '\x7f'; ++c) all.emplace_back(1, c);
  return all;
}

// Returns nullopt if the text does not end in time.
std::optional<std::string> draw(GrammarMatcher& matcher, std::mt19937& random) {
  static const std::vector<std::string> all = characters();
  std::string text;
  auto state = matcher.start();
  while (text.size() < kMostBytes) {
    if (matcher.is_complete(state) && (!matcher.can_continue(state) || random() % 4 == 0)) {
      return text;
    }
    std::vector<double> weights;
    for (const std::string& character : all) {
      const bool ends = std::string_view("\"]},0").find(character) != std::string_view::npos;
      const double weight = !ends ? 1 : text.size() < kShortAfterBytes ? 20 : 2000;
      const bool fits = matcher.next(state, character) != GrammarMatcher::kRefused;
      weights.push_back(fits ? weight : 0);
    }
    std::discrete_distribution<size_t> any(weights.begin(), weights.end());
    const std::string& character = all[any(random)];
    const auto next = matcher.next(state, character);
    if (next == GrammarMatcher::kRefused) return std::nullopt;  // only rare characters fit
    text += character;
    state = next;
  }
  return std::nullopt;
}

Result<Json> answer(const Json& request) {
  KINGLET_ASSIGN(
      Grammar grammar,
      grammar_of_schema(request["schema"], {.open_objects = request["open"] != Json(false)}));
  GrammarMatcher matcher(std::make_shared<const Grammar>(std::move(grammar)));
  Json allowed = Json::array();
  for (const Json& text : request["texts"].as_array()) {
    allowed.push_back(matcher.is_complete(matcher.next(matcher.start(), text.as_string())));
  }
  std::mt19937 random(static_cast<uint32_t>(request["seed"].as_integer().value_or(0)));
  Json drawn = Json::array();
  for (int64_t i = 0; i < request["draws"].as_integer().value_or(0); ++i) {
    if (auto text = draw(matcher, random)) drawn.push_back(std::move(*text));
  }
  return Json{{"allowed", std::move(allowed)}, {"drawn", std::move(drawn)}};
}

}  // namespace
}  // namespace kinglet

int main() {
  using namespace kinglet;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = parse_json(line, {.depth = kMostLevels});
    const auto answered = request.ok() ? answer(request.value()) : request.error();
    const Json told = answered.ok() ? answered.value() : Json{{"error", answered.error().message}};
    std::cout << print(told) << "\n";
  }
}
