// Reads the arguments of a function, by position or by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// Returns the value that a filter or a test is applied to.
inline const Value& filtered(const Arguments& arguments) { return arguments.positional.front(); }

class ArgumentReader {
 public:
  // The first `n_first` positional arguments count as read. The default, 1, is for filters, whose
  // first argument is the filtered value.
  ArgumentReader(const char* function, const Arguments& arguments, size_t n_first = 1)
      : function_(function), arguments_(arguments), next_(n_first) {}

  // Returns the next positional argument, or the argument of that name; null if neither is given.
  const Value* take(const char* name);

  // check() reports a value of a wrong type, and a missing value that has no default.
  int64_t take_integer(const char* name, int64_t otherwise);
  std::optional<int64_t> take_place(const char* name);  // nullopt if missing or None
  bool take_truth(const char* name, bool otherwise);
  Text take_text(const char* name);
  Text take_text(const char* name, const char* otherwise);

  // ErrorCode::invalid_argument names the first argument of a wrong type.
  Status check() const { return status_; }
  // Like check(), but also fails if some arguments were not taken.
  Status check_end() const;

 private:
  void expect(const char* name, const Value& value, const char* type);

  const char* function_;
  const Arguments& arguments_;
  size_t next_;
  size_t n_named_ = 0;
  const Value missing_ = Value::undefined("argument");
  Status status_;
};

}  // namespace kinglet::jinja
