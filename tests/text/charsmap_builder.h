// Compiles replacements of characters as SentencePiece does, for tests: see src/text/charsmap.h.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kinglet {

class CharsmapBuilder {
 public:
  explicit CharsmapBuilder(const std::map<std::string, std::string>& entries) {
    std::vector<Entry> sorted;
    for (const auto& [from, to] : entries) {
      sorted.emplace_back(from, static_cast<uint32_t>(replacements_.size()));
      replacements_ += to + '\0';
    }
    nodes_[0] = 0;
    add_children(0, sorted, 0);
  }

  // The nodes of the trie, which tests may damage.
  std::map<uint32_t, uint32_t>& nodes() { return nodes_; }

  std::vector<uint8_t> build() const {
    // The array consists of whole blocks, so it contains all children of any node, whatever their
    // labels are.
    std::vector<uint32_t> words(1 + (nodes_.rbegin()->first / 256 + size_t{1}) * 256);
    words[0] = static_cast<uint32_t>((words.size() - 1) * sizeof(uint32_t));
    for (const auto& [index, node] : nodes_) words[index + size_t{1}] = node;
    std::vector<uint8_t> bytes;
    for (const uint32_t word : words) {
      for (const int shift : {0, 8, 16, 24}) bytes.push_back(static_cast<uint8_t>(word >> shift));
    }
    bytes.insert(bytes.end(), replacements_.begin(), replacements_.end());
    return bytes;
  }

 private:
  using Entry = std::pair<std::string, uint32_t>;

  // Adds the children of node `at`. `entries` are sorted, and their first `depth` bytes, which lead
  // to this node, are the same.
  void add_children(uint32_t at, const std::vector<Entry>& entries, size_t depth) {
    std::map<uint8_t, std::vector<Entry>> children;
    for (const Entry& entry : entries) {
      const bool ends = entry.first.size() == depth;
      children[ends ? 0 : static_cast<uint8_t>(entry.first[depth])].push_back(entry);
    }
    const auto is_free = [&](uint32_t base) {
      for (const auto& child : children) {
        if (nodes_.contains(base ^ child.first)) return false;
      }
      return !bases_.contains(base);
    };
    uint32_t base = 1;
    while (!is_free(base)) ++base;
    bases_.insert(base);
    // An offset may have two encodings: the one with bit 9 is used if it exists.
    const uint32_t offset = base ^ at;
    nodes_[at] |= offset % 256 == 0 ? offset / 256 << 10 | 1u << 9 : offset << 10;
    if (children.contains(0)) nodes_[at] |= 1u << 8;
    for (const auto& [label, below] : children) {
      nodes_[base ^ label] = label == 0 ? 1u << 31 | below.front().second : label;
    }
    for (const auto& [label, below] : children) {
      if (label != 0) add_children(base ^ label, below, depth + 1);
    }
  }

  std::map<uint32_t, uint32_t> nodes_;
  std::set<uint32_t> bases_;
  std::string replacements_;
};

}  // namespace kinglet
