// Ends a text that arrives in pieces at one of several strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet {

// Passes a text on up to the stop string that is complete first; of two that end with the same
// byte, the longer one counts. Bytes that may still become a stop string are held back, so that the
// result does not depend on the pieces in which a text arrives.
class StopStrings {
 public:
  // ErrorCode::invalid_argument: a string that is empty or not UTF-8.
  static Result<StopStrings> create(std::vector<std::string> strings);

  // Takes the next piece, which consists of whole UTF-8 characters. Returns the text that is now
  // certain not to belong to a stop string; nothing after one was found.
  std::string next(std::string_view text);

  // Returns the text that was held back, at the end of the text.
  std::string finish();

  bool found() const { return found_; }

 private:
  explicit StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {}

  size_t n_possible() const;

  std::vector<std::string> strings_;
  std::string held_;  // may be the beginning of a stop string
  bool found_ = false;
};

}  // namespace kinglet
