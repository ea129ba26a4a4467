// Reading the arguments of a function, by position or by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

class ArgumentReader {
 public:
  // `n_first` positional ones are read already: what is filtered.
  ArgumentReader(const char* function, const Arguments& arguments, size_t n_first = 1)
      : function_(function), arguments_(arguments), next_(n_first) {}

  // The next argument, or the one of that name; null where neither is given.
  const Value* take(const char* name);

  // What is of another type, or missing, is told by check().
  int64_t take_integer(const char* name, int64_t otherwise);
  std::optional<int64_t> take_place(const char* name);  // None is none
  bool take_truth(const char* name, bool otherwise);
  Text take_text(const char* name);
  Text take_text(const char* name, const char* otherwise);

  // ErrorCode::invalid_argument names the first argument of a wrong type.
  Status check() const { return status_; }
  // And where arguments are left that nobody knows.
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
