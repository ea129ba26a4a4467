// The program that a grammar is compiled to.
#pragma once

#include <cstdint>

namespace kinglet {

// A schema of many pages makes some thousand steps; 2 MB of them are a mistake, or an attack.
constexpr uint32_t kMaxGrammarSteps = 1 << 18;

// One step of a rule, which goes on with the step after it unless told otherwise.
struct GrammarStep {
  enum class Kind : uint8_t {
    take,   // takes a byte from `low` to `high`
    token,  // takes a whole token, whose id is the target
    split,  // goes on after, and at the target
    jump,   // goes on at the target
    call,   // runs the rule at the target, then goes on after
    end,    // of a rule; the target is its first step
  };
  Kind kind;
  uint8_t low = 0;
  uint8_t high = 0;
  int32_t target = 0;  // relative to this step, but of a token
};

}  // namespace kinglet
