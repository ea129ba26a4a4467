// Reads MaskBench's cases, and runs one against the engine's own matcher. The corpus is JSON lines
// of {"name", "schema", "tests": [{"valid", "data"}]}. Instances are printed compactly, with the
// properties as they stand.
#pragma once

#include <chrono>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "json/json.h"
#include "schema/schema.h"

namespace kinglet::maskbench {

struct Instance {
  bool is_valid;
  std::string text;
};

struct Case {
  std::string name;
  Json schema;
  std::vector<Instance> instances;
};

// Returns the next case; nullopt after the last one.
inline Result<std::optional<Case>> read_case(std::istream& lines) {
  constexpr size_t kMostLevels = 1000;
  std::string line;
  if (!std::getline(lines, line)) return std::optional<Case>();
  KINGLET_ASSIGN(Json read, parse_json(line, {.depth = kMostLevels}));
  const std::string* name = read.find_string("name");
  Case found{name == nullptr ? "" : *name, std::move(read["schema"]), {}};
  const Json* tests = read.find("tests");
  if (tests == nullptr || !tests->is_array()) return std::optional(std::move(found));
  for (const Json& test : tests->as_array()) {
    const Json& valid = test["valid"];
    found.instances.push_back({valid.is_boolean() && valid.as_boolean(), print(test["data"])});
  }
  return std::optional(std::move(found));
}

struct Compiled {
  double milliseconds = 0;  // from the schema to the program of the matcher
  Result<SharedGrammar> grammar = SharedGrammar();
};

inline Compiled compile(const Json& schema) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  Compiled compiled{.grammar = shared(grammar_of_schema(schema, {.open_objects = true}))};
  compiled.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return compiled;
}

// Whether the grammar's texts include this one. `refused_at`: the byte at which the text was
// refused, its size if it may not end there.
inline bool accepts(GrammarMatcher& matcher, const std::string& text, size_t& refused_at) {
  auto state = matcher.start();
  for (size_t i = 0; i < text.size(); ++i) {
    refused_at = i;
    state = matcher.next(state, static_cast<uint8_t>(text[i]));
    if (state == GrammarMatcher::kRefused) return false;
    if (matcher.is_full()) state = matcher.forget_all_but(state);
  }
  refused_at = text.size();
  return matcher.is_complete(state);
}

}  // namespace kinglet::maskbench
