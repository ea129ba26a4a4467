#include "schema/numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "base/decimal.h"
#include "base/format.h"
#include "schema/rules.h"
#include "schema/schema_case.h"

namespace kinglet::schema {
namespace {

// Returns a grammar; null if the range has no numbers.
SharedGrammar grammar_of_range(const NumberRange& range) {
  GrammarRules rules;
  const auto numbers = numbers_expression(range, rules);
  EXPECT_TRUE(numbers.ok()) << (numbers.ok() ? "" : numbers.error().message);
  if (!numbers.ok() || numbers.value().empty()) return nullptr;
  return expect_shared(rules.grammar(numbers.value()));
}

int random_below(std::mt19937& random, int n) {
  return static_cast<int>(random() % static_cast<unsigned>(n));
}

TEST(SchemaNumbers, RangesOfIntegersAreExact) {
  std::mt19937 random(2);
  for (int i = 0; i < 150; ++i) {
    const int span = static_cast<int>(std::pow(10, 1 + i % 4));
    int least = random_below(random, span) - span / 2;
    int most = random_below(random, span) - span / 2;
    if (least > most) std::swap(least, most);
    const std::string first = cat(least);
    const std::string last = cat(most);
    Texts texts(grammar_of_range(
        {.least = Bound{first, false}, .most = Bound{last, false}, .is_whole = true}));
    for (int n = 0; n < 30; ++n) {
      const int center = n == 0 ? least : n == 1 ? most : random_below(random, span) - span / 2;
      for (const int value : {center - 1, center, center + 1}) {
        EXPECT_EQ(texts.have(cat(value)), value >= least && value <= most)
            << value << " in " << least << " to " << most;
      }
    }
  }
}

// Numbers and bounds are counted in hundredths.
std::string hundredths(int n) {
  std::string digits = cat(std::abs(n) % 100 + 100).substr(1);
  while (digits.ends_with('0')) digits.pop_back();
  return cat(n < 0 ? "-" : "", std::abs(n) / 100, digits.empty() ? "" : ".", digits);
}

TEST(SchemaNumbers, RangesOfFractionsAndStepsAreExact) {
  std::mt19937 random(3);
  constexpr int kSteps[] = {0, 10, 25, 300, 7};
  for (int i = 0; i < 150; ++i) {
    const int span = static_cast<int>(std::pow(10, 2 + i % 3));
    int least = random_below(random, span) - span / 2;
    int most = random_below(random, span) - span / 2;
    if (least > most) std::swap(least, most);
    const int step = kSteps[i % 5];
    const bool is_open = i % 2 == 1;
    const std::string first = hundredths(least);
    const std::string last = hundredths(most);
    const std::string of = step == 0 ? "" : hundredths(step);
    const SharedGrammar grammar =
        grammar_of_range({.least = Bound{first, is_open}, .most = Bound{last, false}, .step = of});
    if (grammar == nullptr) continue;
    Texts texts(grammar);
    for (int n = 0; n < 60; ++n) {
      const int value = n == 0 ? least : n == 1 ? most : random_below(random, span) - span / 2;
      const bool is_inside = (is_open ? value > least : value >= least) && value <= most &&
                             (step == 0 || value % step == 0);
      EXPECT_EQ(texts.have(hundredths(value)), is_inside)
          << hundredths(value) << " in " << first << " to " << last << " by " << of;
      EXPECT_EQ(contains({.least = Bound{first, is_open}, .most = Bound{last, false}, .step = of},
                         hundredths(value))
                    .value(),
                is_inside);
    }
  }
}

TEST(SchemaNumbers, ReadBoundsInEverySpelling) {
  for (const char* bound : {"150", "150.0", "1.5e2", "1.5E+2", "15000e-2", "0.15e3"}) {
    Texts texts(grammar_of_range({.least = Bound{bound, false}, .is_whole = true}));
    EXPECT_TRUE(texts.have("150")) << bound;
    EXPECT_FALSE(texts.have("149")) << bound;
  }
  for (const char* zero : {"0", "-0.0", "0e5", "1e-999", "0e999999999999"}) {
    Texts texts(grammar_of_range({.least = Bound{zero, false}, .is_whole = true}));
    EXPECT_TRUE(texts.have("0")) << zero;
    EXPECT_FALSE(texts.have("-1")) << zero;
  }
}

TEST(SchemaNumbers, FindCommonMultiples) {
  EXPECT_EQ(common_multiple("4", "6"), "12");
  EXPECT_EQ(common_multiple("0.25", "0.1"), "0.50");
  EXPECT_EQ(common_multiple("1e-3", "2"), "2.000");
  EXPECT_EQ(common_multiple("1e300", "1"), std::nullopt);
}

}  // namespace
}  // namespace kinglet::schema
