#include "schema/other_names.h"

#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "grammar/character_set.h"
#include "grammar/expression.h"
#include "schema/strings.h"

namespace kinglet::schema {
namespace {

// The most characters in a row that become one rule.
constexpr size_t kLongestBranch = 16;

bool is_printable_ascii(char32_t c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

class Tree {
 public:
  explicit Tree(GrammarRules& rules) : rules_(rules) {}

  // Returns the rest of the strings that are none of `names`, which are sorted and whose first
  // `n_read` characters have been read.
  Expression behind(std::span<const std::u32string> names, size_t n_read) {
    std::vector<Expression> branches;
    const bool may_end = names.front().size() > n_read;
    if (may_end) {
      branches.push_back(literal("\""));
    } else {
      names = names.subspan(1);
    }
    CharacterSet taken;
    while (!names.empty()) {
      const char32_t c = names.front()[n_read];
      const auto same = static_cast<size_t>(
          std::find_if(names.begin(), names.end(),
                       [&](const std::u32string& name) { return name[n_read] != c; }) -
          names.begin());
      Expression after = behind(names.first(same), n_read + 1);
      if ((n_read + 1) % kLongestBranch == 0) after = rules_.add(after);
      branches.push_back(sequence({Characters{'"'}.spell({{c, c}}), after}));
      taken.push_back({c, c});
      names = names.subspan(same);
    }
    // Many names have this part: as a rule, it is in the grammar once.
    branches.push_back(rules_.add(sequence({others(taken), rules_.common(CommonRule::rest)})));
    return alternatives(branches);
  }

 private:
  Expression others(const CharacterSet& taken) {
    const bool is_plain = std::all_of(taken.begin(), taken.end(),
                                      [](CodePoints one) { return is_printable_ascii(one.first); });
    const CharacterSet free = complement(taken);
    if (!is_plain) return Characters{'"'}.spell(free);
    const CharacterSet plain = intersection(free, {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0x7e}});
    return alternatives({one_of(plain), rules_.common(CommonRule::other_character)});
  }

  GrammarRules& rules_;
};

}  // namespace

Expression other_names(const std::vector<std::string_view>& names, GrammarRules& rules) {
  std::vector<std::u32string> decoded;
  for (std::string_view rest : names) {
    std::u32string& name = decoded.emplace_back();
    while (!rest.empty()) {
      const Utf8Char character = decode_utf8(rest);
      name += character.code_point;
      rest.remove_prefix(character.n_bytes);
    }
  }
  std::sort(decoded.begin(), decoded.end());
  decoded.erase(std::unique(decoded.begin(), decoded.end()), decoded.end());
  if (decoded.empty()) return rules.common(CommonRule::string);
  return rules.add(sequence({literal("\""), Tree(rules).behind(decoded, 0)}));
}

}  // namespace kinglet::schema
