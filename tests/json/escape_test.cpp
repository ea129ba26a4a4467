#include "json/escape.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace kinglet {
namespace {

std::string escaped(std::string_view text) {
  std::string out = "before ";
  append_json_escaped(out, text);
  return out;
}

TEST(JsonEscape, EscapesWhatAStringMayNotHold) {
  EXPECT_EQ(escaped("\"\\\b\f\n\r\t"), R"(before \"\\\b\f\n\r\t)");
  EXPECT_EQ(escaped(std::string_view("\0\x1b\x1f", 3)), R"(before \u0000\u001b\u001f)");
}

TEST(JsonEscape, LeavesEverythingElse) {
  EXPECT_EQ(escaped(" /'\x7f\xc3\xa9\xff"), "before  /'\x7f\xc3\xa9\xff");
}

}  // namespace
}  // namespace kinglet
