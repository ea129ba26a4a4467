#include "text/jinja/arguments.h"

#include "base/format.h"

namespace kinglet::jinja {

const Value* ArgumentReader::take(const char* name) {
  if (next_ < arguments_.positional.size()) return &arguments_.positional[next_++];
  for (const auto& [known, value] : arguments_.named) {
    if (known == name) {
      ++n_named_;
      return &value;
    }
  }
  return nullptr;
}

void ArgumentReader::expect(const char* name, const Value& value, const char* type) {
  if (!status_.ok()) return;
  status_ = refusal(cat(function_, ": ", name, " is ", value.type_name(), ", expected ", type));
}

int64_t ArgumentReader::take_integer(const char* name, int64_t otherwise) {
  const Value* value = take(name);
  if (value == nullptr) return otherwise;
  if (!value->is_whole()) expect(name, *value, "int");
  return value->is_whole() ? value->as_integer() : otherwise;
}

std::optional<int64_t> ArgumentReader::take_place(const char* name) {
  const Value* value = take(name);
  if (value == nullptr || value->is(Kind::none)) return std::nullopt;
  if (!value->is_whole()) expect(name, *value, "int");
  return value->as_integer();
}

bool ArgumentReader::take_truth(const char* name, bool otherwise) {
  const Value* value = take(name);
  return value == nullptr ? otherwise : value->is_true();
}

Text ArgumentReader::take_text(const char* name) {
  const Value* value = take(name);
  if (value == nullptr) value = &missing_;
  if (!value->is(Kind::text)) expect(name, *value, "str");
  return value->is(Kind::text) ? value->as_text() : Text();
}

Text ArgumentReader::take_text(const char* name, const char* otherwise) {
  const Value* value = take(name);
  if (value == nullptr) return Text(otherwise);
  if (!value->is(Kind::text)) expect(name, *value, "str");
  return value->is(Kind::text) ? value->as_text() : Text(otherwise);
}

Status ArgumentReader::check_end() const {
  if (!status_.ok()) return status_;
  if (next_ >= arguments_.positional.size() && n_named_ >= arguments_.named.size()) return {};
  return refusal(cat(function_, ": too many arguments, or an unknown argument name"));
}

}  // namespace kinglet::jinja
