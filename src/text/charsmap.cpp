#include "text/charsmap.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"

namespace kinglet {
namespace {

constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";

// Entries are a few characters, and the longest of Unicode's replacements has 18. These limits keep
// the work linear even for a damaged file.
constexpr size_t kMaxEntryBytes = 64;
constexpr size_t kMaxReplacementBytes = 255;

// A node: bits 0 to 7 are its label. Bit 8 says that the child for 0 holds a value. Bits 10 to 30
// are the offset to its children, times 256 if bit 9 is set. A node with bit 31 set has no label;
// the other bits are its value.
bool has_label(uint32_t node, uint8_t label) { return (node & 0x800000ffu) == label; }
bool has_value(uint32_t node) { return (node >> 8 & 1) != 0; }
uint32_t offset(uint32_t node) { return node >> 10 << ((node & 1u << 9) >> 6); }
uint32_t value(uint32_t node) { return node & 0x7fffffffu; }

Error corrupt(std::string_view what) { return {ErrorCode::corrupt, cat(kKey, " ", what)}; }

// Converters write bytes as integers of various types, with or without a sign.
Result<std::string> read_bytes(const GgufHeader& header) {
  KINGLET_ASSIGN(const MetadataArray array, header.require_integers(kKey));
  std::string bytes;
  bytes.reserve(static_cast<size_t>(array.size()));
  bool are_bytes = true;
  array.for_each([&](uint64_t, const MetadataValue& value) {
    const int64_t byte = value.as_int().value_or(INT64_MAX);
    are_bytes = are_bytes && byte >= INT8_MIN && byte <= UINT8_MAX;
    bytes += static_cast<char>(byte);
  });
  if (!are_bytes) return corrupt("has a number that is not a byte");
  return bytes;
}

}  // namespace

Result<Charsmap> Charsmap::from_gguf(const GgufHeader& header) {
  Charsmap map;
  if (header.find(kKey) == nullptr) return map;
  KINGLET_ASSIGN(const std::string bytes, read_bytes(header));
  uint32_t n_trie_bytes = 0;
  constexpr size_t kSizeBytes = sizeof n_trie_bytes;
  if (bytes.size() < kSizeBytes) {
    return corrupt(cat("has ", bytes.size(), " bytes, expected at least the 4 of its size"));
  }
  std::memcpy(&n_trie_bytes, bytes.data(), kSizeBytes);
  if (n_trie_bytes >= bytes.size() - kSizeBytes) {
    return corrupt(cat("has a trie of ", n_trie_bytes, " bytes and ", bytes.size() - kSizeBytes,
                       " in total, expected replacements after the trie"));
  }
  map.nodes_.resize(n_trie_bytes / sizeof(uint32_t));
  if (!map.nodes_.empty()) {
    std::memcpy(map.nodes_.data(), bytes.data() + kSizeBytes, map.nodes_.size() * sizeof(uint32_t));
  }
  map.replacements_ = bytes.substr(kSizeBytes + n_trie_bytes);
  for (size_t begin = 0; begin < map.replacements_.size();) {
    const size_t end = map.replacements_.find('\0', begin);
    if (end == std::string::npos) return corrupt("ends in a replacement that has no end");
    if (end - begin > kMaxReplacementBytes) {
      return corrupt(cat("has a replacement of ", end - begin, " bytes, expected at most ",
                         kMaxReplacementBytes));
    }
    begin = end + 1;
  }
  return map;
}

Charsmap::Match Charsmap::find(std::string_view text) const {
  Match longest = {0, {}};
  if (nodes_.empty()) return longest;
  const size_t n_bytes = std::min(text.size(), kMaxEntryBytes);
  uint32_t children = offset(nodes_[0]);
  for (size_t i = 0; i < n_bytes && text[i] != '\0'; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const uint32_t at = children ^ byte;
    if (at >= nodes_.size() || !has_label(nodes_[at], byte)) break;
    children = at ^ offset(nodes_[at]);
    if (!has_value(nodes_[at])) continue;
    if (children >= nodes_.size()) break;
    const uint32_t begin = value(nodes_[children]);
    if (begin >= replacements_.size()) break;
    longest = {i + 1, replacements_.data() + begin};
  }
  return longest;
}

}  // namespace kinglet
