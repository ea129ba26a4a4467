#include "base/printable.h"

#include <gtest/gtest.h>

namespace kinglet {
namespace {

TEST(Printable, EscapesWhatControlsATerminal) {
  EXPECT_EQ(printable("Zoë 漢字 😀 \\ ~"), "Zoë 漢字 😀 \\ ~");
  EXPECT_EQ(printable("\x1b]0;x\x07\x1b[31m\x7f"), "\\x1b]0;x\\x07\\x1b[31m\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\u0085\u009b31m\u00a0"), "\\x85\\x9b31m\u00a0");
  EXPECT_EQ(printable("\u202a\u202e\u2066\u2069\u2028\u200f"),
            "\\u202a\\u202e\\u2066\\u2069\\u2028\u200f");
  EXPECT_EQ(printable("\x9b\xc3(\xe2\x82"), "\\x9b\\xc3(\\xe2\\x82");
  EXPECT_EQ(printable("a\r\n\tb"), "a\\x0d\\x0a\\x09b");
  EXPECT_EQ(printable("a\r\n\tb\x1b", Lines::kept), "a\n\tb\\x1b");
}

}  // namespace
}  // namespace kinglet
