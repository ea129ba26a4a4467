#include "schema/automaton.h"

#include <algorithm>
#include <span>

#include "grammar/expression.h"

namespace kinglet::schema {
namespace {

using Move = Automaton::Move;
using State = Automaton::State;

constexpr uint32_t kNoState = UINT32_MAX;

// Removes the states from which no accepting state can be reached: a grammar with them could get
// stuck.
std::vector<State> without_dead_ends(std::vector<State> states) {
  // The living states are found backwards, from those that accept.
  std::vector<std::vector<uint32_t>> before(states.size());
  std::vector<uint32_t> todo;
  std::vector<bool> is_living(states.size());
  for (uint32_t i = 0; i < states.size(); ++i) {
    for (const Move& move : states[i].moves) before[move.to].push_back(i);
    is_living[i] = states[i].accepts || !states[i].rest.empty();
    if (is_living[i]) todo.push_back(i);
  }
  while (!todo.empty()) {
    const uint32_t next = todo.back();
    todo.pop_back();
    for (const uint32_t i : before[next]) {
      if (!is_living[i]) todo.push_back(i);
      is_living[i] = true;
    }
  }
  if (!is_living[0]) return {};
  // Renumber: states and moves keep their order.
  std::vector<uint32_t> numbers;
  uint32_t n_living = 0;
  for (const bool is : is_living) numbers.push_back(is ? n_living++ : kNoState);
  std::vector<State> living;
  for (size_t i = 0; i < states.size(); ++i) {
    if (!is_living[i]) continue;
    State& state = living.emplace_back(std::move(states[i]));
    for (Move& move : state.moves) move.to = numbers[move.to];
    std::erase_if(state.moves, [](const Move& move) { return move.to == kNoState; });
  }
  return living;
}

// Orders states so that each comes after those that it leads to, as far as that is possible: loops
// have no such order. A depth-first search that lists a state when all its moves are followed; with
// a stack of its own, because paths can be as long as there are states.
std::vector<uint32_t> last_first(const std::vector<State>& states) {
  struct Step {
    uint32_t state;
    size_t next_move;
  };
  std::vector<uint32_t> order;
  std::vector<bool> is_seen(states.size());
  std::vector<Step> path = {{0, 0}};
  is_seen[0] = true;
  while (!path.empty()) {
    Step& here = path.back();
    const std::vector<Move>& moves = states[here.state].moves;
    if (here.next_move == moves.size()) {
      order.push_back(here.state);
      path.pop_back();
      continue;
    }
    const uint32_t to = moves[here.next_move++].to;
    if (!is_seen[to]) path.push_back({to, 0});
    is_seen[to] = true;
  }
  return order;
}

void append(std::string& key, uint32_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Joins states with the same continuations (Revuz's minimization of acyclic automata). States are
// taken last first. So all targets of a state have their final numbers when it is looked at, and
// two states have the same continuations exactly if they are written alike: accept alike, and move
// by the same symbols to the same numbers. A loop of several states has a target without a number
// yet; such states stay apart, which is correct, only larger.
class Joiner {
 public:
  explicit Joiner(std::vector<State> states) : states_(std::move(states)) {}

  Automaton run() {
    numbers_.assign(states_.size(), kNoState);
    for (const uint32_t i : last_first(states_)) {
      states_[i].moves = grouped(i);
      // The first state with a key is kept. Later ones get its number.
      const auto [known, is_new] =
          known_.try_emplace(key_of(i), static_cast<uint32_t>(kept_.size()));
      if (is_new) kept_.push_back(i);
      numbers_[i] = known->second;
    }
    return kept();
  }

 private:
  // Targets whose own number is not known yet, because of a loop, and the state itself.
  static constexpr uint32_t kOpen = 1u << 30;
  static constexpr uint32_t kItself = kNoState;

  uint32_t target(uint32_t from, uint32_t to) const {
    if (to == from) return kItself;
    return numbers_[to] == kNoState ? kOpen + to : numbers_[to];
  }

  // Joins the state's moves that have the same target.
  std::vector<Move> grouped(uint32_t state) {
    std::vector<Move> groups;
    std::unordered_map<uint32_t, size_t> places;
    for (Move& move : states_[state].moves) {
      const auto [known, is_new] = places.try_emplace(target(state, move.to), groups.size());
      if (is_new) {
        groups.push_back(std::move(move));
      } else {
        std::vector<uint32_t>& symbols = groups[known->second].symbols;
        symbols.insert(symbols.end(), move.symbols.begin(), move.symbols.end());
        std::sort(symbols.begin(), symbols.end());
      }
    }
    return groups;
  }

  // Returns equal texts for states with the same continuations.
  std::string key_of(uint32_t state) {
    const auto& [accepts, rest, moves] = states_[state];
    std::vector<std::pair<uint32_t, const Move*>> by_target;
    for (const Move& move : moves) by_target.emplace_back(target(state, move.to), &move);
    std::sort(by_target.begin(), by_target.end());  // the order of moves does not matter
    std::string key = accepts ? "+" : "-";
    append(key, number_of(rest));
    for (const auto& [to, move] : by_target) {
      append(key, to);
      append(key, static_cast<uint32_t>(move->symbols.size()));
      for (const uint32_t symbol : move->symbols) append(key, symbol);
    }
    return key;
  }

  // Returns the same number for equal expressions.
  uint32_t number_of(const Expression& rest) {
    return rests_.try_emplace(rest, static_cast<uint32_t>(rests_.size())).first->second;
  }

  // Returns the kept states, the start first.
  Automaton kept() {
    const uint32_t first = numbers_[0];
    std::vector<uint32_t> order = {first};
    for (uint32_t number = 0; number < kept_.size(); ++number) {
      if (number != first) order.push_back(number);
    }
    std::vector<uint32_t> places(order.size());
    for (uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
    Automaton automaton;
    for (const uint32_t number : order) {
      State& state = automaton.states.emplace_back(std::move(states_[kept_[number]]));
      for (Move& move : state.moves) move.to = places[numbers_[move.to]];
    }
    return automaton;
  }

  std::vector<State> states_;
  std::vector<uint32_t> numbers_;  // by state: among those that are kept
  std::vector<uint32_t> kept_;
  std::unordered_map<std::string, uint32_t> known_;  // numbers, by key_of()
  std::unordered_map<Expression, uint32_t, ExpressionHash> rests_;
};

// The most states in a row that become one rule.
constexpr int kLongestRow = 16;

// Writes rules for an automaton. A state that only one move enters is written where that move is,
// so that there are few rules; every other one is a rule, written once.
class Writer {
 public:
  Writer(const Automaton& automaton,
         const std::function<Expression(const std::vector<uint32_t>&)>& spell, GrammarRules& rules)
      : states_(automaton.states), spell_(spell), rules_(rules) {}

  Expression run() {
    n_entries_.assign(states_.size(), 0);
    rules_of_states_.resize(states_.size());
    n_entries_[0] = 1;
    for (uint32_t i = 0; i < states_.size(); ++i) {
      for (const Move& move : states_[i].moves) n_entries_[move.to] += move.to != i ? 1 : 0;
    }
    Expression start = write(0, 0);
    // Writing a rule may refer to further states, which then wait in todo_.
    while (!todo_.empty()) {
      const uint32_t next = todo_.back();
      todo_.pop_back();
      rules_.define(rules_of_states_[next], write(next, 0));
    }
    return start;
  }

 private:
  // Returns what follows when the state has been reached. `depth`: the states since the last rule
  // began.
  Expression refer(uint32_t number, int depth) {
    const State& state = states_[number];
    if (!rules_of_states_[number].empty()) return rules_of_states_[number];
    if (!state.rest.empty()) return state.rest;
    if (state.accepts && state.moves.empty()) return empty_text();
    if (n_entries_[number] == 1 && depth < kLongestRow) return write(number, depth + 1);
    rules_of_states_[number] = rules_.declare();
    todo_.push_back(number);
    return rules_of_states_[number];
  }

  Expression write(uint32_t number, int depth) {
    const State& state = states_[number];
    if (!state.rest.empty()) return state.rest;
    Expression loop;
    std::vector<Expression> branches;
    for (const Move& move : state.moves) {
      const Expression symbol = spell_(move.symbols);
      if (move.to == number) {  // a loop of one state is a repetition in front of the others
        loop = repeat(symbol, 0, kUnlimited);
      } else {
        branches.push_back(sequence({symbol, refer(move.to, depth)}));
      }
    }
    if (state.accepts) branches.push_back(empty_text());
    return sequence({loop, alternatives(branches)});
  }

  const std::vector<State>& states_;
  const std::function<Expression(const std::vector<uint32_t>&)>& spell_;
  GrammarRules& rules_;
  std::vector<uint32_t> n_entries_;  // moves to each state from others; the start has one more
  std::vector<Expression> rules_of_states_;  // empty for states that are not rules
  std::vector<uint32_t> todo_;               // such states whose rule is not defined yet
};

}  // namespace

Automaton minimized(std::vector<State> states) {
  states = without_dead_ends(std::move(states));
  return states.empty() ? Automaton() : Joiner(std::move(states)).run();
}

Expression automaton_expression(
    const Automaton& automaton,
    const std::function<Expression(const std::vector<uint32_t>&)>& spell, GrammarRules& rules) {
  return Writer(automaton, spell, rules).run();
}

}  // namespace kinglet::schema
