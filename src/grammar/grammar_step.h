// The program that a grammar is compiled to.
#pragma once

#include <cstdint>

namespace kinglet {

// A schema of many pages needs a few thousand steps, one of 10,000 properties some 300,000; 8 MB of
// steps are a mistake or an attack.
constexpr uint32_t kMaxGrammarSteps = 1 << 20;

// One step of a rule. The rule continues with the step after it, unless noted otherwise.
struct GrammarStep {
  enum class Kind : uint8_t {
    take,   // takes a byte from `low` to `high`
    token,  // takes a whole token, whose id is the target
    split,  // continues both after this step and at the target
    jump,   // continues at the target
    call,   // runs the rule at the target, then continues after this step
    end,    // of a rule; the target is the rule's first step
  };
  Kind kind;
  uint8_t low = 0;
  uint8_t high = 0;
  int32_t target = 0;  // relative to this step, except the id of a token

  bool operator==(const GrammarStep&) const = default;
};

}  // namespace kinglet
