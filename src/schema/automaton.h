// Makes deterministic finite automata, and converts them to rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schema/rules.h"

namespace kinglet::schema {

struct Automaton {
  struct Move {
    std::vector<uint32_t> symbols;  // numbers in an alphabet, ascending
    uint32_t to;
  };
  struct State {
    bool accepts = false;
    Expression rest = {};  // all that may follow, if that is known to be short: then there are no
                           // moves
    std::vector<Move> moves = {};
  };

  std::vector<State> states;  // The first one is the start. Empty: no text is accepted.
};

// Removes states from which no text is accepted, and joins states that have the same continuations,
// beginning with the last states. The result is the smallest automaton if it has no loops of more
// than one state.
Automaton minimized(std::vector<Automaton::State> states);

// Makes a small automaton. `describe(state, described, add_move)` says of a state whether it
// accepts, or what the rest is, or else calls add_move(symbol, next) for each symbol that may
// follow, in ascending order. Returns nullopt if there are more than `n_most` states.
template <class S, class Hash, class Describe>
std::optional<Automaton> automaton_of(const S& start, size_t n_most, const Describe& describe) {
  struct LastMove {
    size_t from = 0;   // the number of the state, plus 1; 0: none yet
    size_t place = 0;  // among the moves of that state
  };
  std::unordered_map<S, uint32_t, Hash> numbers;
  std::vector<S> todo;
  std::vector<LastMove> last_moves;  // to each state
  const auto number_of = [&](const S& state) {
    const auto [known, is_new] = numbers.try_emplace(state, static_cast<uint32_t>(todo.size()));
    if (is_new) todo.push_back(state);
    return known->second;
  };
  number_of(start);
  std::vector<Automaton::State> states;
  while (states.size() < todo.size()) {
    if (states.size() == n_most) return std::nullopt;
    const S state = todo[states.size()];
    Automaton::State& described = states.emplace_back();
    describe(state, described, [&](uint32_t symbol, const S& next) {
      const uint32_t to = number_of(next);
      last_moves.resize(todo.size());
      LastMove& last = last_moves[to];
      if (last.from != states.size()) {
        last = {states.size(), described.moves.size()};
        described.moves.push_back({{}, to});
      }
      described.moves[last.place].symbols.push_back(symbol);
    });
  }
  return minimized(std::move(states));
}

// Returns an expression of the texts of the automaton, which must have a state. A state becomes a
// rule of its own if several moves lead to it, or if it is too far from the last rule. `spell`
// returns an expression of one of the symbols.
Expression automaton_expression(
    const Automaton& automaton,
    const std::function<Expression(const std::vector<uint32_t>&)>& spell, GrammarRules& rules);

}  // namespace kinglet::schema
