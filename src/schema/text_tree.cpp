#include "schema/text_tree.h"

#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "grammar/expression.h"

namespace kinglet::schema {
namespace {

// Where branches inside branches end, because of the stack.
constexpr size_t kDeepest = 64;
// The branches inside branches that are in one rule: otherwise, equal ones would be written again
// and again.
constexpr size_t kInOneRule = 8;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

class TextTree {
 public:
  explicit TextTree(GrammarRules& rules) : rules_(rules) {}

  // Returns the rest of the texts, which are sorted, different, and the same up to `n_read`.
  Expression behind(std::span<const std::string> texts, size_t n_read, size_t depth) {
    if (texts.size() == 1) return literal(texts[0].substr(n_read));
    const std::string_view first = texts.front();
    const std::string_view last = texts.back();
    auto same = static_cast<size_t>(
        std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first - first.begin());
    while (same > n_read && same < last.size() && !begins_character(last[same])) --same;
    std::vector<Expression> branches;
    if (first.size() == same) {
      branches.push_back(empty_text());
      texts = texts.subspan(1);
    }
    while (!texts.empty()) {
      const size_t n = decode_utf8(std::string_view(texts[0]).substr(same)).n_bytes;
      const auto other = std::find_if(texts.begin(), texts.end(), [&](const std::string& text) {
        return text.compare(same, n, texts[0], same, n) != 0;
      });
      const auto group = texts.first(static_cast<size_t>(other - texts.begin()));
      texts = texts.subspan(group.size());
      if (depth < kDeepest) {
        branches.push_back(behind(group, same, depth + 1));
      } else {
        for (const std::string& text : group) branches.push_back(literal(text.substr(same)));
      }
    }
    const Expression all =
        sequence({same > n_read ? literal(first.substr(n_read, same - n_read)) : Expression(),
                  alternatives(branches)});
    return depth % kInOneRule == kInOneRule - 1 ? rules_.add(all) : all;
  }

 private:
  GrammarRules& rules_;
};

}  // namespace

Expression tree_of_texts(std::vector<std::string> texts, GrammarRules& rules) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts.empty() ? Expression() : TextTree(rules).behind(texts, 0, 0);
}

}  // namespace kinglet::schema
