#include "text/jinja/name_scopes.h"

#include <cstddef>
#include <string>

namespace kinglet::jinja {

void NameScopes::note(std::string_view name, First first) {
  constexpr size_t kMost = 1000;  // every name is compared with all others
  auto& firsts = scopes_.back().firsts;
  for (auto& [known, before] : firsts) {
    if (known != name) continue;
    if (before == First::inner_read) before = first;
    return;
  }
  has_too_many_ = has_too_many_ || firsts.size() == kMost;
  if (has_too_many_) return;
  firsts.emplace_back(name, first == First::late_set ? First::own : first);
}

void NameScopes::note_target(const Node& target, First first) {
  if (target.kind == NodeKind::name) return note(target.name, first);
  // Setting an attribute reads its namespace.
  const First of_child = target.kind == NodeKind::attribute ? First::own : first;
  for (const NodePtr& child : target.children) note_target(*child, of_child);
}

bool NameScopes::end(Node& block, bool sees_outer) {
  const Scope ended = std::move(scopes_.back());
  scopes_.pop_back();
  for (const auto& [name, first] : ended.firsts) {
    if (first == First::late_set) block.names.emplace_back(name);
    if (sees_outer && first != First::late_set) note(name, First::inner_read);
    if (first == First::inner_read) continue;
    // A name that this block knows is not hidden in the blocks inside it.
    for (Node* inner : ended.inner) std::erase(inner->names, name);
  }
  if (!sees_outer) return !has_too_many_;
  auto& outer = scopes_.back().inner;
  outer.insert(outer.end(), ended.inner.begin(), ended.inner.end());
  if (!block.names.empty()) outer.push_back(&block);
  return !has_too_many_;
}

}  // namespace kinglet::jinja
