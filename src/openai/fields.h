// Reads the members of a request's JSON object one by one, and checks their types and ranges.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "openai/api_error.h"

namespace kinglet::openai {

class Fields {
 public:
  // `object` must be a JSON object and must outlive the Fields. `place`: where it is in the
  // request, such as "messages[0]"; empty: it is the request.
  explicit Fields(const Json& object, std::string place = {})
      : object_(object), place_(std::move(place)) {}

  // The place of a member, for errors and for the Fields of an inner object.
  std::string place_of(std::string_view name) const;

  // Returns null if the member is absent or null.
  const Json* find(const std::string& name);

  // Reads a field into `out`. If the field is absent, `out` does not change. An error names the
  // field.
  ApiStatus take(const std::string& name, bool& out);
  ApiStatus take(const std::string& name, std::string& out);
  ApiStatus take(const std::string& name, std::optional<std::string>& out);
  ApiStatus take(const std::string& name, std::optional<float>& out);
  // A whole number from `least` to `most`.
  ApiStatus take(const std::string& name, std::optional<int64_t>& out, int64_t least, int64_t most);
  // A text, or a list of texts.
  ApiStatus take(const std::string& name, std::vector<std::string>& out);

  // Returns the field, which must be an object, or null if it is absent.
  ApiResult<const Json*> take_object(const std::string& name);

  // Accepts fields that change nothing in this server.
  void ignore(std::initializer_list<const char*> names);

  // Accepts a field with one of these values, which ask for what happens anyway.
  void ignore_if(const std::string& name, std::initializer_list<Json> values);

  // Fails if the object has a field, other than null, that was neither read nor ignored: the client
  // would not notice that the field has no effect.
  ApiStatus check_all_known() const;

 private:
  const Json& object_;
  std::string place_;
  std::vector<std::string> known_;
};

// Returns an error such as "name is 3, expected a text". A long value is not printed: only its type
// is.
ApiError wrong_value(const std::string& name, const Json& found, std::string_view expected);

// The same for the item `i` of the list `name`: "name[1] is 3, expected a text". `param` is the
// list.
ApiError wrong_item(const std::string& name, size_t i, const Json& found,
                    std::string_view expected);

}  // namespace kinglet::openai
