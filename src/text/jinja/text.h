// A string that knows which of its bytes come from a conversation, and which from the template
// itself. So whatever a template does with the text of a message, this text cannot become one of
// the control tokens that the template writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"

namespace kinglet::jinja {

class Text {
 public:
  // Stops templates that double a text again and again. No conversation is as long.
  static constexpr size_t kMostBytes = size_t{1} << 23;

  // Defined in text.cpp: inlined everywhere, they would take much code.
  Text();
  explicit Text(std::string_view bytes, bool is_said = false);
  Text(const Text& other);
  Text(Text&& other) noexcept;
  Text& operator=(const Text& other);
  Text& operator=(Text&& other) noexcept;
  ~Text();

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  // Whether nothing more can be appended, because the text has reached its limit.
  bool is_full() const { return bytes_.size() >= kMostBytes; }
  bool empty() const { return bytes_.empty(); }

  // The ranges that come from a conversation: in order, not empty, and not touching each other.
  const std::vector<TextRange>& said() const { return said_; }
  bool is_said(size_t at) const;

  // Whether the text has an address in memory, like Python's "<function f at 0x7f…>", which differs
  // in each run.
  bool has_address() const { return has_address_; }
  void mark_address() { has_address_ = true; }

  // Leaves out what does not fit: see is_full().
  void append(const Text& other);
  void append(std::string_view bytes, bool is_said = false);

  // Returns the bytes [begin, end).
  Text cut(size_t begin, size_t end) const;

 private:
  void add_range(size_t begin, size_t end);
  // Returns the first range of said_ that ends after byte `at`.
  std::vector<TextRange>::const_iterator first_behind(size_t at) const;

  std::string bytes_;
  std::vector<TextRange> said_;
  bool has_address_ = false;
};

}  // namespace kinglet::jinja
