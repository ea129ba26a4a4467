#include <string>
#include <string_view>

#include "base/utf8.h"
#include "json/escape.h"
#include "json/json.h"

namespace kinglet {
namespace {

class Printer {
 public:
  explicit Printer(std::string_view indent) : indent_(indent) {}

  void print(const Json& value) {
    switch (value.type()) {
      case Json::Type::null:
        out_ += "null";
        break;
      case Json::Type::boolean:
        out_ += value.as_boolean() ? "true" : "false";
        break;
      case Json::Type::number:
        out_ += value.spelling();
        break;
      case Json::Type::string:
        print_string(value.as_string());
        break;
      case Json::Type::array:
        print_list('[', value.as_array(), ']', [&](const Json& item) { print(item); });
        break;
      case Json::Type::object:
        print_list('{', value.as_object(), '}', [&](const Json::Member& member) {
          print_string(member.first);
          out_ += indent_.empty() ? ":" : ": ";
          print(member.second);
        });
        break;
    }
  }

  std::string take() { return std::move(out_); }

 private:
  template <class Items, class PrintItem>
  void print_list(char begin, const Items& items, char end, const PrintItem& print_item) {
    out_ += begin;
    ++level_;
    for (const auto& item : items) {
      if (&item != &items.front()) out_ += ',';
      begin_line();
      print_item(item);
    }
    --level_;
    if (!items.empty()) begin_line();
    out_ += end;
  }

  void begin_line() {
    if (indent_.empty()) return;
    out_ += '\n';
    for (size_t i = 0; i < level_; ++i) out_ += indent_;
  }

  void print_string(std::string_view text) {
    out_ += '"';
    append_json_escaped(out_, replace_ill_formed(text));
    out_ += '"';
  }

  std::string_view indent_;
  size_t level_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Json& value, std::string_view indent) {
  Printer printer(indent);
  printer.print(value);
  return printer.take();
}

}  // namespace kinglet
