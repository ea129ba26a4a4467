#include "server/json.h"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format.h"

namespace kinglet::server {
namespace {

// Builds a value from a parser's events, in a time proportional to the text: the library's own
// builder looks at all items of a list after each of them if it may refuse some, and compares each
// key with all keys before it.
class Builder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in JSON text
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override;
  bool parse_error(size_t, const std::string&, const Json::exception&) override {
    return refuse("the body is not JSON in UTF-8");
  }

  const std::string& refusal() const { return refusal_; }
  Json& value() { return value_; }

 private:
  struct Open {
    Json* value;
    Json* next = nullptr;                               // where the value of the last key belongs
    std::unordered_map<std::string, size_t> keys = {};  // their places, in an object
  };

  bool add(Json value) { return place(std::move(value)) != nullptr; }
  bool open(Json value);
  bool close() {
    open_.pop_back();
    return true;
  }
  Json* place(Json value);
  bool refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    return false;
  }

  Json value_;
  std::vector<Open> open_;
  std::string refusal_;
};

// Puts a value where the text has it. Lists and objects do not move while they are open: only the
// innermost one grows.
Json* Builder::place(Json value) {
  if (open_.empty()) {
    value_ = std::move(value);
    return &value_;
  }
  Open& around = open_.back();
  if (around.value->is_array()) {
    around.value->push_back(std::move(value));
    return &around.value->back();
  }
  *around.next = std::move(value);
  return around.next;
}

bool Builder::open(Json value) {
  if (open_.size() == kMostJsonDepth) {
    return refuse(cat("the JSON is nested deeper than ", kMostJsonDepth, " levels"));
  }
  open_.push_back({place(std::move(value))});
  return true;
}

// Makes a place for the key's value. The last value of a key counts.
bool Builder::key(string_t& name) {
  Open& around = open_.back();
  // The vector below the library's object: the object's own functions compare all keys.
  std::vector<Json::object_t::value_type>& members = around.value->get_ref<Json::object_t&>();
  const auto [known, is_new] = around.keys.try_emplace(name, members.size());
  if (is_new) {
    if (members.size() == kMostJsonKeys) {
      return refuse(cat("the JSON has an object of more than ", kMostJsonKeys, " keys"));
    }
    members.emplace_back(std::move(name), nullptr);
  }
  around.next = &members[known->second].second;
  return true;
}

}  // namespace

ApiResult<Json> parse_json(std::string_view text) {
  Builder builder;
  if (!Json::sax_parse(text, &builder)) return invalid(builder.refusal());
  return std::move(builder.value());
}

std::string print(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kinglet::server
