#include "server/json.h"

#include <vector>

#include "base/format.h"

namespace kinglet::server {

ApiResult<Json> parse_json(std::string_view text) {
  bool is_too_deep = false;
  bool has_too_many_keys = false;
  std::vector<size_t> n_keys(kMostJsonDepth + 2);  // of the open object at each depth
  const auto may_keep = [&](int depth, Json::parse_event_t event, Json&) {
    const auto level = static_cast<size_t>(depth);
    is_too_deep |= level > kMostJsonDepth;
    if (is_too_deep) return false;
    if (event == Json::parse_event_t::object_start) n_keys[level + 1] = 0;
    if (event == Json::parse_event_t::key) has_too_many_keys |= ++n_keys[level] > kMostJsonKeys;
    return !has_too_many_keys;
  };
  Json value = Json::parse(text, may_keep, /*allow_exceptions=*/false);
  if (is_too_deep) {
    return invalid(cat("the JSON is nested deeper than ", kMostJsonDepth, " levels"));
  }
  if (has_too_many_keys) {
    return invalid(cat("the JSON has an object of more than ", kMostJsonKeys, " keys"));
  }
  if (value.is_discarded()) return invalid("the body is not JSON in UTF-8");
  return value;
}

std::string print(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kinglet::server
