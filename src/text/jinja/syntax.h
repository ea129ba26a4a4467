// A parsed template. Source of the language: Jinja 3's documentation ("Template Designer
// Documentation"), with the settings that transformers uses for chat templates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace kinglet::jinja {

struct Node;
using NodePtr = std::unique_ptr<Node>;

enum class NodeKind : uint8_t {
  // --- Expressions
  literal,      // value
  name,         // name
  list,         // children
  tuple,        // children
  dict,         // children: key, value, key, value …
  attribute,    // children[0].name
  subscript,    // children[0][children[1]]
  slice,        // children[0][begin:end:step], null for a part that is left out
  call,         // children[0](children[1] …, named)
  spread,       // *children[0] among the arguments of a call; **value is named ""
  filter,       // children[0] | name(children[1] …, named)
  test,         // children[0] is name(children[1] …)
  negate,       // not children[0]
  minus,        // -children[0]
  plus,         // +children[0]
  both,         // children[0] and children[1]
  either,       // children[0] or children[1]
  condition,    // children[0] if children[1] else children[2], which may be null
  operation,    // children[0] name children[1], where name is +, -, *, /, //, % or **
  concat,       // children, joined by ~
  comparisons,  // children[0] names[0] children[1] names[1] children[2] …

  // --- Statements
  output,       // children
  block,        // children, one after the other; names: undefined until the block sets them
  named_block,  // children[0]: block; name: "scoped" if it sees the names around it
  branch,       // children[0]: condition, [1]: block, [2]: block or null
  loop,    // children[0]: target, [1]: what to iterate over, [2]: condition or null, [3]: block,
           // [4]: block of `else`, or null; name: "loop" if the block uses this variable
  assign,  // children[0]: target, [1]: value
  assign_block,  // children[0]: target, [1]: block, whose text goes through the filters of [2]
  macro,  // name, names: parameters, children[0]: block, [1] …: defaults of the last parameters
  call_block,    // children[0]: call, [1]: a macro that the called macro may call as caller()
  filter_block,  // children[0]: block, [1]: filters
  with,          // children[0]: targets, [1]: values, [2]: block
  leave,         // break
  proceed,       // continue
};

struct Node {
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();  // not recursive, because chains of nodes may be long

  NodeKind kind = NodeKind::block;
  uint32_t line = 0;
  std::string name = {};
  Value value = {};
  std::vector<NodePtr> children = {};
  std::vector<std::string> names = {};
  std::vector<std::pair<std::string, NodePtr>> named = {};  // arguments
  // For a macro: which of these variables its block mentions, so that a call may pass more
  // arguments than the macro has parameters.
  bool takes_varargs = false;
  bool takes_kwargs = false;
  bool takes_caller = false;
  bool is_recursive = false;  // for a loop
};

}  // namespace kinglet::jinja
