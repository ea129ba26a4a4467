#include "text/jinja/template.h"

#include <utility>
#include <vector>

#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace kinglet::jinja {

Result<Template> Template::parse(std::string_view source) {
  KINGLET_ASSIGN(NodePtr block, jinja::parse(source));
  return Template(std::move(block));
}

Result<Text> Template::render(const Dict& variables, const Now& now,
                              const Cancellation& cancellation) const {
  return run(*block_, variables, now, cancellation);
}

bool Template::mentions(std::string_view name) const {
  // Not recursive, because chains of nodes may be long.
  std::vector<const Node*> left = {block_.get()};
  while (!left.empty()) {
    const Node& node = *left.back();
    left.pop_back();
    const bool is_text = node.kind == NodeKind::literal && node.value.is(Kind::text);
    if (is_text && node.value.as_bytes() == name) return true;
    if (node.kind == NodeKind::attribute && node.name == name) return true;
    for (const NodePtr& child : node.children) {
      if (child) left.push_back(child.get());
    }
    for (const auto& [of_argument, child] : node.named) left.push_back(child.get());
  }
  return false;
}

}  // namespace kinglet::jinja
