// Which names the blocks of a template read and set.
//
// Before a template runs, Jinja finds out which names a block sets. Until the block sets such a
// name, the name is undefined in the blocks inside it, even if a variable has the same name:
// {% for m in messages %}{{ tools }}{% endfor %}{% set tools = 1 %} writes no tools.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/syntax.h"

namespace kinglet::jinja {

class NameScopes {
 public:
  // From here to end(), names belong to a new block.
  void begin() { scopes_.emplace_back(); }

  // Ends the innermost block, which has been parsed, and sets the names that it sets late.
  // `sees_outer`: whether the block sees the names around it. Returns false if any block has had
  // too many names.
  bool end(Node& block, bool sees_outer);

  // Between these two calls, statements are in a branch, which may not run.
  void begin_branch() { ++scopes_.back().n_branches; }
  void end_branch() { --scopes_.back().n_branches; }

  // Notes that the innermost block reads a name, or has it from the start. Names must live until
  // end().
  void note(std::string_view name) { note(name, First::own); }
  // The same for the names of an assignment's target.
  void note_target(const Node& target) { note_target(target, First::own); }
  // Notes that a statement here sets a name, or the names of a target.
  void note_set(std::string_view name) { note(name, first_of_set()); }
  void note_set_target(const Node& target) { note_target(target, first_of_set()); }

 private:
  // What a block that has its own names does first with a name.
  enum class First : uint8_t {
    inner_read,  // nothing yet, but a block inside it has read the name
    own,         // reads it, has it from the start, or sets it in a branch or before any read
    late_set,    // sets it after a block inside has read it
  };

  // The names of a block.
  struct Scope {
    std::vector<std::pair<std::string_view, First>> firsts = {};
    std::vector<Node*> inner = {};  // blocks inside that set a name late
    int n_branches = 0;             // how many branches are around the current place
  };

  First first_of_set() const {
    return scopes_.back().n_branches > 0 ? First::own : First::late_set;
  }
  void note(std::string_view name, First first);
  void note_target(const Node& target, First first);

  std::vector<Scope> scopes_ = {};  // the innermost block is the last
  bool has_too_many_ = false;
};

}  // namespace kinglet::jinja
