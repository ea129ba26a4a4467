// The rules of a grammar, to which several schemas may add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kinglet::schema {

// A place in a schema, given as `at`, names the rules that are made for it: "#/properties/age".
class GrammarRules {
 public:
  bool has(std::string_view name) const { return by_name_.contains(name); }

  void define(std::string_view name, std::string body);

  // Returns the name of a rule with this body, which is made if there is none.
  std::string add(std::string_view at, const std::string& body);

  // Returns what repeat() returns, but much shorter for large numbers: a rule stands for a block of
  // many repetitions.
  std::string repeated(std::string_view at, const std::string& part, uint64_t least, uint64_t most);

  // Reserves and returns a name. The caller must define it.
  std::string new_name(std::string_view at) { return make(at).name; }

  // Takes back a name of new_name() to which nothing refers.
  void drop(const std::string& name);

  // Returns a name that does not depend on a place: "string", "char", "number", "integer", "rest"
  // (of a JSON string) or "other" (kOtherJsonCharacter). The rule, and the rules that it needs, are
  // made if there are none.
  std::string common(std::string_view name);

  // Returns the grammar whose texts match the expression `root`.
  std::string grammar(std::string_view root) const;

 private:
  struct Rule {
    std::string name;
    std::string body;
  };

  // Makes a rule without a body.
  Rule& make(std::string_view at);

  std::list<Rule> rules_;  // does not move the texts that the tables refer to
  std::unordered_map<std::string_view, Rule*> by_name_;             // in `rules_`, by name
  std::unordered_map<std::string_view, std::string_view> by_body_;  // names of rules of add()
  std::unordered_map<std::string, size_t> n_names_;                 // that begin with a stem
};

}  // namespace kinglet::schema
