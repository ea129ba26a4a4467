// Ends a text that arrives in pieces at one of several strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet {

// Each byte of a text is compared with each of them.
constexpr size_t kMostStops = 256;

// Passes a text on up to the stop string that is complete first; of two that end with the same
// byte, the longer one counts. Bytes that may still become a stop string are held back, so that the
// result does not depend on the pieces in which a text arrives.
class StopStrings {
 public:
  // ErrorCode::invalid_argument: a string that is empty or not UTF-8, or too many strings.
  static Result<StopStrings> create(const std::vector<std::string>& strings);

  // Fails as create() does.
  static Status check(const std::vector<std::string>& strings);

  // Takes the next piece, which consists of whole UTF-8 characters. Returns the text that is now
  // certain not to belong to a stop string; nothing after one was found.
  std::string next(std::string_view text);

  // Returns the text that was held back, at the end of the text.
  std::string finish();

  // The text that is held back: it may begin a stop string.
  const std::string& held() const { return held_; }

  bool found() const { return found_; }

 private:
  // Searches for a text byte by byte (Knuth, Morris and Pratt, 1977).
  struct Search {
    explicit Search(std::string_view sought);

    // Takes the next byte. Returns whether the text is complete; nothing may be pushed after that.
    bool push(char c);

    std::string text;
    std::vector<uint32_t> borders;  // of each beginning: its longest end that begins the text
    size_t n_found = 0;             // bytes of the text with which the last bytes end
  };

  StopStrings() = default;

  std::vector<Search> searches_;
  std::string held_;
  bool found_ = false;
};

}  // namespace kinglet
