#include "grammar/byte_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace kinglet {
namespace {

bool is_surrogate(char32_t c) { return c >= 0xd800 && c < 0xe000; }

using Sequences = std::vector<std::pair<std::string, std::string>>;

Sequences sequences_of(const CharacterSet& ranges) {
  Sequences sequences;
  for_each_byte_sequence(ranges, [&](const std::string& first, const std::string& last) {
    EXPECT_EQ(first.size(), last.size());
    sequences.emplace_back(first, last);
  });
  return sequences;
}

uint8_t byte_at(const std::string& bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

int n_spelling(const Sequences& sequences, const std::string& bytes) {
  return static_cast<int>(
      std::count_if(sequences.begin(), sequences.end(), [&bytes](const auto& sequence) {
        if (sequence.first.size() != bytes.size()) return false;
        for (size_t i = 0; i < bytes.size(); ++i) {
          if (byte_at(bytes, i) < byte_at(sequence.first, i)) return false;
          if (byte_at(bytes, i) > byte_at(sequence.second, i)) return false;
        }
        return true;
      }));
}

// In ranges of any order.
bool is_in(const CharacterSet& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](CodePoints range) { return c >= range.first && c <= range.last; });
}

uint64_t n_spelled(const Sequences& sequences) {
  uint64_t total = 0;
  for (const auto& [first, last] : sequences) {
    uint64_t n = 1;
    for (size_t i = 0; i < first.size(); ++i) n *= byte_at(last, i) - byte_at(first, i) + 1u;
    total += n;
  }
  return total;
}

// Expects each member once, and as many texts as there are members: so there is nothing else.
void expect_exact(const CharacterSet& ranges, bool negated) {
  const CharacterSet members = negated ? complement(ranges) : normalized(ranges);
  const auto sequences = sequences_of(members);
  uint64_t n_members = 0;
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    if (is_surrogate(c) || is_in(ranges, c) == negated) continue;
    ++n_members;
    std::string bytes;
    append_utf8(bytes, c);
    if (n_spelling(sequences, bytes) != 1) {
      ADD_FAILURE() << "U+" << std::hex << static_cast<uint32_t>(c);
      return;
    }
  }
  EXPECT_EQ(n_spelled(sequences), n_members);
}

TEST(ByteRanges, SpellEveryCharacterOnce) {
  expect_exact({{0, 0x10ffff}}, false);
  expect_exact({{'"', '"'}, {'\\', '\\'}, {0, 0x1f}}, true);
  expect_exact({{0xd700, 0xe100}}, false);
  expect_exact({}, true);
}

TEST(ByteRanges, SpellRandomSets) {
  std::mt19937 random(1);
  const char32_t borders[] = {0,      0x7f,   0x80,   0x7ff,   0x800,   0xfff,
                              0x1000, 0xd7ff, 0xffff, 0x10000, 0x3ffff, 0x10ffff};
  for (int i = 0; i < 12; ++i) {
    CharacterSet ranges;
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      const auto pick = [&]() -> char32_t {
        if (random() % 2) return borders[random() % std::size(borders)];
        return static_cast<char32_t>(random() % 0x110000);
      };
      const char32_t a = pick();
      const char32_t b = pick();
      ranges.push_back({std::min(a, b), std::max(a, b)});
    }
    expect_exact(ranges, i % 2 == 1);
  }
}

TEST(ByteRanges, LeaveSurrogatesOut) {
  EXPECT_TRUE(sequences_of({{0xd800, 0xdfff}}).empty());
  EXPECT_TRUE(sequences_of(complement({kAnyCodePoint})).empty());
}

}  // namespace
}  // namespace kinglet
