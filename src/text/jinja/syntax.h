// A parsed template. Source of the language: Jinja 3's documentation ("Template Designer
// Documentation"), with the settings that transformers runs chat templates with.
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
  slice,        // children[0][begin:end:step], null where one is left out
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
  operation,    // children[0] name children[1], by +, -, *, /, //, %, **
  concat,       // children, joined by ~
  comparisons,  // children[0] names[0] children[1] names[1] children[2] …

  // --- Statements
  output,       // children
  block,        // children, one after the other; names: undefined until it sets them
  named_block,  // children[0]: block; name: "scoped" where it sees the names around it
  branch,       // children[0]: condition, [1]: block, [2]: block or null
  loop,    // children[0]: target, [1]: what is gone through, [2]: condition or null, [3]: block,
           // [4]: block for nothing, or null; name: "loop" where the block says it
  assign,  // children[0]: target, [1]: value
  assign_block,  // children[0]: target, [1]: block, whose text goes through the filters of [2]
  macro,       // name, names: parameters, children[0]: block, [1] …: the last parameters' values
  call_block,  // children[0]: call, [1]: a macro that it may call as caller()
  filter_block,  // children[0]: block, [1]: filters
  with,          // children[0]: targets, [1]: values, [2]: block
  leave,         // break
  proceed,       // continue
};

struct Node {
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();  // of long chains, too: without recursion

  NodeKind kind = NodeKind::block;
  uint32_t line = 0;
  std::string name = {};
  Value value = {};
  std::vector<NodePtr> children = {};
  std::vector<std::string> names = {};
  std::vector<std::pair<std::string, NodePtr>> named = {};  // arguments
  // Of a macro: which of what a call may give beyond the parameters it speaks of.
  bool takes_varargs = false;
  bool takes_kwargs = false;
  bool takes_caller = false;
};

}  // namespace kinglet::jinja
