// The filters, tests, methods and global functions of templates.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/jinja/now.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// The variable that holds the text of a block for the block's filters.
constexpr const char* kBlockText = " block";

// `arguments` begin with the value that is filtered or tested.
struct Filter {
  Result<Value> operator()(Arguments& arguments) const;

  std::string_view name;
  Result<Value> (*filter)(Arguments& arguments) = nullptr;
  Getter getter = nullptr;  // instead of `filter`, if there are no other arguments
};
using Test = Result<bool> (*)(const List& arguments);

// These return null if there is none of that name.
const Filter* find_filter(std::string_view name);
Test find_test(std::string_view name);

// Returns the method `name` of a text, dict, list, tuple or range; undefined if there is none.
Value find_method(const Value& of, std::string_view name);

// Returns a global function: range, dict, namespace, joiner, raise_exception or strftime_now;
// undefined for other names. Fails with ErrorCode::invalid_argument for names that Jinja has, but
// that are not implemented here.
Result<Value> find_global(std::string_view name, const Now& now);

// Returns the attribute of a value: a method, an entry of a dict, or undefined. Fails with
// ErrorCode::invalid_argument if `of` itself is undefined, or if Python has the attribute, but it
// is not implemented here.
Result<Value> attribute(const Value& of, std::string_view name);

// Returns of[index]; undefined if there is no such element. Errors: those of attribute().
Result<Value> element(const Value& of, const Value& index);

}  // namespace kinglet::jinja
