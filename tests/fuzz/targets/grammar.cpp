// The input is the text of a grammar, a NUL, and bytes that choose a way through it. The target
// does not know what the grammar accepts. It checks that the matcher never reaches a dead end, and
// that forgetting states changes nothing.
#include "grammar/grammar.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "fuzz/input.h"
#include "grammar/grammar_matcher.h"

namespace kinglet::fuzz {
namespace {

constexpr size_t kMaxTextBytes = 32;

std::vector<uint8_t> bytes_that_follow(GrammarMatcher& matcher, GrammarMatcher::State state) {
  std::vector<uint8_t> bytes;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<uint8_t>(byte);
    if (matcher.next(state, value) != GrammarMatcher::kRefused) bytes.push_back(value);
  }
  return bytes;
}

// Two matchers read the same bytes; one of them forgets everything it can after each byte.
void walk(std::shared_ptr<const Grammar> grammar, Input& input) {
  GrammarMatcher matcher(grammar);
  GrammarMatcher forgetful(grammar);
  auto state = matcher.start();
  auto again = forgetful.start();
  for (size_t n = 0; n < kMaxTextBytes; ++n) {
    const auto bytes = bytes_that_follow(matcher, state);
    if (matcher.is_too_ambiguous()) return;
    check(matcher.can_continue(state) == !bytes.empty(), "it says wrongly whether it can go on");
    check(matcher.is_complete(state) || !bytes.empty(), "a dead end");
    check(bytes == bytes_that_follow(forgetful, again), "other bytes follow where one forgets");
    check(matcher.is_complete(state) == forgetful.is_complete(again), "completeness is forgotten");
    if (bytes.empty() || input.empty()) return;
    const uint8_t byte = bytes[input.up_to(static_cast<uint32_t>(bytes.size() - 1))];
    state = matcher.next(state, byte);
    again = forgetful.forget_all_but(forgetful.next(again, byte));
  }
}

}  // namespace

void grammar(Bytes bytes) {
  Input input(bytes);
  const auto end = std::find(bytes.begin(), bytes.end(), uint8_t{0});
  const std::string_view text = input.text(static_cast<size_t>(end - bytes.begin()));
  input.take(1);
  auto parsed = Grammar::parse(text);
  if (!parsed.ok()) {
    check(parsed.error().code == ErrorCode::invalid_grammar, "another error than expected");
    check(!parsed.error().message.empty(), "an error without words");
    return;
  }
  walk(std::make_shared<const Grammar>(std::move(parsed.value())), input);
}

}  // namespace kinglet::fuzz
