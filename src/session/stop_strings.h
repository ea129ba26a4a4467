// Where a text that arrives in pieces is to end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet {

// Lets a text through up to the first of its stop strings that is complete; of two that end with
// the same byte, the longer one counts. What may still become a stop string is held back, so that
// the pieces in which a text arrives make no difference.
class StopStrings {
 public:
  // ErrorCode::invalid_argument: a string that is empty or not UTF-8.
  static Result<StopStrings> create(std::vector<std::string> strings);

  // The text, made of whole UTF-8 characters, that is now certain to stand before a stop string.
  // Nothing once one was found.
  std::string next(std::string_view text);

  // What was held back, at the end of the text.
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
