// The filters, tests, methods and global functions of templates.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/jinja/now.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// The name under which filters find the text of their block.
constexpr const char* kBlockText = " block";

// `arguments` begin with what is filtered or tested.
struct Filter {
  Result<Value> operator()(Arguments& arguments) const;

  std::string_view name;
  Result<Value> (*filter)(Arguments& arguments) = nullptr;
  Getter getter = nullptr;  // instead, where it takes nothing else
};
using Test = Result<bool> (*)(const List& arguments);

// Null where there is none of that name.
const Filter* find_filter(std::string_view name);
Test find_test(std::string_view name);

// The method `name` of a text or a dict; undefined where there is none.
Value find_method(const Value& of, std::string_view name);

// range, dict, namespace, joiner, raise_exception, strftime_now.
// Undefined where there is none. ErrorCode::invalid_argument names what Jinja has besides.
Result<Value> find_global(std::string_view name, const Now& now);

// The attribute of a value: a method, an entry of a dict, or undefined. ErrorCode::invalid_argument
// of what is undefined itself.
Result<Value> attribute(const Value& of, std::string_view name);

// of[index]; undefined where there is no such element. Errors: those of attribute().
Result<Value> element(const Value& of, const Value& index);

}  // namespace kinglet::jinja
