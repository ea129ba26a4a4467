// Compares the matcher with an oracle that is independent of its steps, states and stacks: random
// grammars are made as trees, printed as GBNF, and matched by following the trees.
#include "grammar/grammar_matcher.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "grammar/grammar_support.h"

namespace kinglet {
namespace {

struct Node {
  enum class Kind { literal, set, any, reference, sequence, choice, repetition };
  Kind kind = Kind::literal;
  std::u32string characters;  // of a literal or a set
  bool negated = false;
  size_t rule = 0;
  std::vector<Node> children;
  int least = 0;
  int most = -1;  // -1: no bound
};

using Tree = std::vector<Node>;  // by rule; 0 is the root

constexpr std::u32string_view kAlphabet = U"abé";

std::string utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) append_utf8(bytes, c);
  return bytes;
}

std::string rule_name(size_t rule) { return rule == 0 ? "root" : cat("r", rule); }

std::string print(const Node& node) {
  std::string out;
  switch (node.kind) {
    case Node::Kind::literal:
      return cat("\"", utf8(node.characters), "\"");
    case Node::Kind::set:
      return cat(node.negated ? "[^" : "[", utf8(node.characters), "]");
    case Node::Kind::any:
      return ".";
    case Node::Kind::reference:
      return rule_name(node.rule);
    case Node::Kind::sequence:
    case Node::Kind::choice:
      for (const Node& child : node.children) {
        if (!out.empty()) out += node.kind == Node::Kind::choice ? " | " : " ";
        out += print(child);
      }
      return cat("(", out, ")");
    case Node::Kind::repetition:
      out = print(node.children[0]);
      if (node.most < 0 && node.least < 2) return cat(out, node.least == 0 ? "*" : "+");
      if (node.most < 0) return cat(out, "{", node.least, ",}");
      return cat(out, "{", node.least, ",", node.most, "}");
  }
  return out;
}

std::string print(const Tree& tree) {
  std::string out;
  for (size_t i = 0; i < tree.size(); ++i) {
    out += cat(rule_name(i), " ::= ", print(tree[i]), "\n");
  }
  return out;
}

Node random_node(std::mt19937& random, size_t n_rules, int depth) {
  Node node;
  switch (random() % (depth > 0 ? 9 : 4)) {
    case 0:
      for (size_t n = random() % 3; n > 0; --n) node.characters += kAlphabet[random() % 3];
      break;
    case 1:
      node.kind = Node::Kind::set;
      node.negated = random() % 2 != 0;
      node.characters = kAlphabet.substr(random() % 3, 1);
      break;
    case 2:
      if (random() % 4 == 0)
        node.kind = Node::Kind::any;
      else
        node.characters = kAlphabet.substr(random() % 3, 1);
      break;
    case 3:
      node.kind = Node::Kind::reference;
      node.rule = random() % n_rules;
      break;
    case 4:
    case 5:
      node.kind = Node::Kind::sequence;
      break;
    case 6:
    case 7:
      node.kind = Node::Kind::choice;
      break;
    default:
      node.kind = Node::Kind::repetition;
      node.least = static_cast<int>(random() % 3);
      node.most = random() % 2 ? -1 : node.least + static_cast<int>(random() % 3);
      node.children.push_back(random_node(random, n_rules, depth - 1));
  }
  if (node.kind == Node::Kind::sequence || node.kind == Node::Kind::choice) {
    for (size_t n = 2 + random() % 2; n > 0; --n) {
      node.children.push_back(random_node(random, n_rules, depth - 1));
    }
  }
  return node;
}

Tree random_tree(std::mt19937& random) {
  Tree tree;
  const size_t n_rules = 1 + random() % 3;
  for (size_t i = 0; i < n_rules; ++i) tree.push_back(random_node(random, n_rules, 3));
  return tree;
}

// Whether the node can derive the empty text (`only_empty`) or any text, if `rules` says which
// rules can.
bool derives(const Node& node, const std::vector<bool>& rules, bool only_empty) {
  const auto child = [&](const Node& c) { return derives(c, rules, only_empty); };
  switch (node.kind) {
    case Node::Kind::literal:
      return !only_empty || node.characters.empty();
    case Node::Kind::set:
    case Node::Kind::any:
      return !only_empty;
    case Node::Kind::reference:
      return rules[node.rule];
    case Node::Kind::sequence:
      return std::all_of(node.children.begin(), node.children.end(), child);
    case Node::Kind::choice:
      return std::any_of(node.children.begin(), node.children.end(), child);
    case Node::Kind::repetition:
      return node.least == 0 || child(node.children[0]);
  }
  return false;
}

std::vector<bool> rules_deriving(const Tree& tree, bool only_empty) {
  std::vector<bool> rules(tree.size());
  for (size_t round = 0; round < tree.size(); ++round) {
    for (size_t i = 0; i < tree.size(); ++i) rules[i] = derives(tree[i], rules, only_empty);
  }
  return rules;
}

// Adds the rules with which a text of the node can begin.
void first_rules(const Node& node, const std::vector<bool>& empty, std::set<size_t>& out) {
  if (node.kind == Node::Kind::reference) out.insert(node.rule);
  if (node.kind == Node::Kind::repetition && node.most == 0) return;
  for (const Node& child : node.children) {
    first_rules(child, empty, out);
    if (node.kind == Node::Kind::sequence && !derives(child, empty, true)) break;
  }
}

bool is_left_recursive(const Tree& tree) {
  const auto empty = rules_deriving(tree, true);
  for (size_t rule = 0; rule < tree.size(); ++rule) {
    std::set<size_t> reached;
    first_rules(tree[rule], empty, reached);
    for (size_t round = 0; round < tree.size(); ++round) {
      for (const size_t other : std::set<size_t>(reached)) {
        first_rules(tree[other], empty, reached);
      }
    }
    if (reached.count(rule) != 0) return true;
  }
  return false;
}

// Finds where a text of a node that begins at a position of `text` can end.
class Oracle {
 public:
  Oracle(const Tree& tree, std::u32string_view text) : tree_(tree), text_(text) {}

  bool accepts() { return ends_of_rule(0, 0).count(text_.size()) != 0; }

 private:
  using Ends = std::set<size_t>;

  Ends ends_of_rule(size_t rule, size_t begin) {
    const auto key = std::pair(rule, begin);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    return known_[key] = ends(tree_[rule], begin);
  }

  Ends ends(const Node& node, size_t begin) {
    switch (node.kind) {
      case Node::Kind::literal:
        if (text_.substr(begin, node.characters.size()) != node.characters) return {};
        return {begin + node.characters.size()};
      case Node::Kind::set:
        if (begin == text_.size()) return {};
        if ((node.characters.find(text_[begin]) == std::u32string::npos) != node.negated) return {};
        return {begin + 1};
      case Node::Kind::any:
        return begin < text_.size() ? Ends{begin + 1} : Ends{};
      case Node::Kind::reference:
        return ends_of_rule(node.rule, begin);
      case Node::Kind::sequence: {
        Ends all = {begin};
        for (const Node& child : node.children) all = ends_from_each(child, all);
        return all;
      }
      case Node::Kind::choice: {
        Ends all;
        for (const Node& child : node.children) all.merge(ends(child, begin));
        return all;
      }
      case Node::Kind::repetition:
        return ends_of_repetition(node, begin);
    }
    return {};
  }

  Ends ends_from_each(const Node& node, const Ends& begins) {
    Ends all;
    for (const size_t begin : begins) all.merge(ends(node, begin));
    return all;
  }

  // Without a bound, more rounds than the text has characters find nothing new.
  Ends ends_of_repetition(const Node& node, size_t begin) {
    const int n_rounds = node.most < 0 ? node.least + static_cast<int>(text_.size()) : node.most;
    Ends all = node.least == 0 ? Ends{begin} : Ends{};
    Ends current = {begin};
    for (int round = 1; round <= n_rounds; ++round) {
      current = ends_from_each(node.children[0], current);
      if (round >= node.least) all.insert(current.begin(), current.end());
    }
    return all;
  }

  const Tree& tree_;
  std::u32string_view text_;
  std::map<std::pair<size_t, size_t>, Ends> known_;
};

std::vector<std::u32string> texts_up_to(size_t n_characters) {
  std::vector<std::u32string> texts = {U""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == n_characters) break;
    for (const char32_t c : kAlphabet) texts.push_back(texts[i] + c);
  }
  return texts;
}

TEST(GrammarMatcher, AgreesWithTheOracle) {
  std::mt19937 random(1);
  const auto texts = texts_up_to(5);
  int n_matched = 0;
  int n_left_recursive = 0;
  int n_endless = 0;
  for (int i = 0; i < 1500; ++i) {
    const Tree tree = random_tree(random);
    const std::string gbnf = print(tree);
    const auto can_end = rules_deriving(tree, false);
    const auto parsed = Grammar::parse(gbnf);
    if (std::find(can_end.begin(), can_end.end(), false) != can_end.end()) {
      ++n_endless;
      ASSERT_FALSE(parsed.ok()) << gbnf;
      ASSERT_NE(parsed.error().message.find("never ends"), std::string::npos) << gbnf;
      continue;
    }
    if (is_left_recursive(tree)) {
      ++n_left_recursive;
      ASSERT_FALSE(parsed.ok()) << gbnf;
      ASSERT_NE(parsed.error().message.find("left recursion"), std::string::npos) << gbnf;
      continue;
    }
    ASSERT_TRUE(parsed.ok()) << parsed.error().message << "\n" << gbnf;
    ++n_matched;
    GrammarMatcher matcher(std::make_shared<const Grammar>(parsed.value()));
    for (const std::u32string& text : texts) {
      ASSERT_EQ(accepts(matcher, utf8(text)), Oracle(tree, text).accepts())
          << gbnf << "text: " << utf8(text);
    }
    ASSERT_FALSE(matcher.is_too_ambiguous());
  }
  EXPECT_GT(n_matched, 500);
  EXPECT_GT(n_left_recursive, 100);
  EXPECT_GT(n_endless, 50);
}

// Searches breadth first, over every byte.
bool can_be_completed(GrammarMatcher& matcher, GrammarMatcher::State state) {
  std::deque<GrammarMatcher::State> todo = {state};
  std::set<GrammarMatcher::State> seen = {state};
  while (!todo.empty()) {
    if (matcher.is_complete(todo.front())) return true;
    for (int byte = 0; byte < 256; ++byte) {
      const auto next = matcher.next(todo.front(), static_cast<uint8_t>(byte));
      if (next != GrammarMatcher::kRefused && seen.insert(next).second) todo.push_back(next);
    }
    todo.pop_front();
  }
  return false;
}

TEST(GrammarMatcher, NeverLeadsWhereNoTextEnds) {
  std::mt19937 random(2);
  int n_checked = 0;
  for (int i = 0; i < 300; ++i) {
    const auto parsed = Grammar::parse(print(random_tree(random)));
    if (!parsed.ok()) continue;
    GrammarMatcher matcher(std::make_shared<const Grammar>(parsed.value()));
    for (const std::u32string& text : texts_up_to(3)) {
      const auto state = state_behind(matcher, utf8(text));
      if (state == GrammarMatcher::kRefused) continue;
      ++n_checked;
      ASSERT_TRUE(can_be_completed(matcher, state));
    }
  }
  EXPECT_GT(n_checked, 1000);
}

TEST(GrammarMatcher, RefusesBytesThatAreNotUtf8) {
  GrammarMatcher matcher(grammar_of("root ::= .*"));
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes;
    for (size_t n = 1 + random() % 5; n > 0; --n) {
      bytes += static_cast<char>(random() % 2 ? random() % 256 : 0x80 + random() % 0x80);
    }
    bool well_formed = true;
    bool unfinished = false;
    for (std::string_view rest = bytes; !rest.empty();) {
      const Utf8Char c = decode_utf8(rest);
      unfinished = c.state == Utf8State::unfinished;
      well_formed &= c.state != Utf8State::ill_formed;
      rest.remove_prefix(c.n_bytes);
    }
    EXPECT_EQ(may_begin(matcher, bytes), well_formed);
    EXPECT_EQ(accepts(matcher, bytes), well_formed && !unfinished);
  }
}

TEST(GrammarMatcher, TellsWhetherTextsMayEndAndGoOn) {
  GrammarMatcher matcher(grammar_of("root ::= \"a\" \"b\"? | \"é\""));
  const auto start = matcher.start();
  EXPECT_FALSE(matcher.is_complete(start));
  EXPECT_TRUE(matcher.can_continue(start));
  const auto a = state_behind(matcher, "a");
  EXPECT_TRUE(matcher.is_complete(a));
  EXPECT_TRUE(matcher.can_continue(a));
  const auto ab = state_behind(matcher, "ab");
  EXPECT_TRUE(matcher.is_complete(ab));
  EXPECT_FALSE(matcher.can_continue(ab));
  const auto half = state_behind(matcher, "\xc3");  // of é
  EXPECT_FALSE(matcher.is_complete(half));
  EXPECT_TRUE(matcher.can_continue(half));
}

// An automaton is written as rules that end by calling each other: the number of states stays
// finite.
TEST(GrammarMatcher, IsInTheSameStateWhereARuleEndsByCallingAnother) {
  GrammarMatcher matcher(
      grammar_of("root ::= \"[\" even \"]\"\neven ::= \"a\" odd | \"\"\nodd ::= (\"a\" (even))\n"));
  GrammarMatcher::State state = matcher.next(matcher.start(), '[');
  state = matcher.next(matcher.next(state, 'a'), 'a');
  const GrammarMatcher::State even = state;
  for (int i = 0; i < 10'000; ++i) state = matcher.next(matcher.next(state, 'a'), 'a');
  EXPECT_EQ(state, even);
  EXPECT_EQ(matcher.next(matcher.next(state, 'a'), ']'), GrammarMatcher::kRefused);
  EXPECT_TRUE(matcher.is_complete(matcher.next(state, ']')));
}

TEST(GrammarMatcher, ForgetsWithoutLosingItsPlace) {
  const std::string text = R"({"a":[[{"b":[1,{"c":[[true,"é"]]}]},null],{"d":{}}],"e":-1.5e3})";
  GrammarMatcher matcher(grammar_of(kJsonGrammar));
  for (size_t every : {1u, 2u, 5u}) {
    GrammarMatcher::State state = matcher.start();
    GrammarMatcher forgetful(grammar_of(kJsonGrammar));
    GrammarMatcher::State other = forgetful.start();
    for (size_t i = 0; i < text.size(); ++i) {
      state = matcher.next(state, static_cast<uint8_t>(text[i]));
      other = forgetful.next(other, static_cast<uint8_t>(text[i]));
      if (i % every == 0) other = forgetful.forget_all_but(other);
      for (int byte = 0; byte < 256; ++byte) {
        ASSERT_EQ(matcher.next(state, static_cast<uint8_t>(byte)) == 0,
                  forgetful.next(other, static_cast<uint8_t>(byte)) == 0)
            << "byte " << byte << " after " << text.substr(0, i + 1);
      }
    }
    EXPECT_TRUE(forgetful.is_complete(other));
  }
}

TEST(GrammarMatcher, IsFullWhenTheCacheIsLarge) {
  GrammarMatcher matcher(grammar_of("root ::= \"[\" root \"]\" | \"\""));
  EXPECT_FALSE(matcher.is_full());
  auto state = state_behind(matcher, std::string(200000, '['));
  EXPECT_TRUE(matcher.is_full());
  for (int i = 0; i < 199990; ++i) state = matcher.next(state, ']');
  state = matcher.forget_all_but(state);
  EXPECT_FALSE(matcher.is_full());
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(matcher.is_complete(state));
    state = matcher.next(state, ']');
  }
  EXPECT_TRUE(matcher.is_complete(state));
}

// Every "a" may begin one of two calls, so after n of them there are 2^n stacks.
TEST(GrammarMatcher, StopsWhereAmbiguityExplodes) {
  GrammarMatcher matcher(grammar_of("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"x\""));
  EXPECT_TRUE(accepts(matcher, "aaaxbcb"));
  EXPECT_FALSE(matcher.is_too_ambiguous());
  EXPECT_FALSE(may_begin(matcher, std::string(30, 'a')));
  EXPECT_TRUE(matcher.is_too_ambiguous());
}

TEST(GrammarMatcher, ChoosesAmongThousands) {
  std::string gbnf = "root ::= \"0\"";
  for (int i = 1; i < 10000; ++i) gbnf += cat(" | \"", i * 7919, "\"");
  GrammarMatcher matcher(grammar_of(gbnf));
  EXPECT_TRUE(accepts(matcher, "7919"));
  EXPECT_TRUE(accepts(matcher, cat(9999 * 7919)));
  EXPECT_FALSE(accepts(matcher, "7918"));
  EXPECT_FALSE(matcher.is_too_ambiguous());
}

}  // namespace
}  // namespace kinglet
