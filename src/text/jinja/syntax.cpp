#include "text/jinja/syntax.h"

#include <iterator>

namespace kinglet::jinja {

Node::~Node() {
  std::vector<NodePtr> doomed = std::move(children);
  for (auto& argument : named) doomed.push_back(std::move(argument.second));
  while (!doomed.empty()) {
    const NodePtr node = std::move(doomed.back());
    doomed.pop_back();
    if (!node) continue;
    std::move(node->children.begin(), node->children.end(), std::back_inserter(doomed));
    for (auto& argument : node->named) doomed.push_back(std::move(argument.second));
    node->children.clear();
    node->named.clear();
  }
}

}  // namespace kinglet::jinja
