// The members of a request's JSON object, read one by one, each checked for its type and range.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/json.h"

namespace kinglet::server {

class Fields {
 public:
  // `object` must be one, and outlive this.
  explicit Fields(const Json& object) : object_(object) {}

  // Null where there is none, or it is null.
  const Json* find(const std::string& name);

  // What is absent leaves `out` as it is. An error names the field.
  ApiStatus take(const std::string& name, bool& out);
  ApiStatus take(const std::string& name, std::string& out);
  ApiStatus take(const std::string& name, std::optional<float>& out);
  // A whole number from `least` to `most`.
  ApiStatus take(const std::string& name, std::optional<int64_t>& out, int64_t least, int64_t most);
  // A text, or a list of texts.
  ApiStatus take(const std::string& name, std::vector<std::string>& out);

  // An object; null where there is none.
  ApiResult<const Json*> take_object(const std::string& name);

  // Those that change nothing here.
  void ignore(std::initializer_list<const char*> names);

  // Refuses what nobody has asked for: it would be left out silently otherwise.
  ApiStatus check_all_known() const;

 private:
  const Json& object_;
  std::set<std::string, std::less<>> known_;
};

// "name is 3, expected a text", of a value that is not long.
ApiError wrong_value(const std::string& name, const Json& found, std::string_view expected);

}  // namespace kinglet::server
