#include "base/misspelling.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace kinglet {
namespace {

TEST(Misspelling, FindsTheNearestName) {
  constexpr std::array<std::string_view, 5> kKnown = {"generate", "chat", "--prompt", "--top-k",
                                                      "rm"};
  for (const auto& [name, meant] :
       {std::pair("genrate", "generate"), std::pair("genreate", "generate"),
        std::pair("GENERATE", "generate"), std::pair("gnrate", "generate"),
        std::pair("caht", "chat"), std::pair("chart", "chat"), std::pair("chaaat", ""),
        std::pair("--promt", "--prompt"), std::pair("--topk", "--top-k"), std::pair("rn", ""),
        std::pair("", ""), std::pair("frobnicate", "")}) {
    EXPECT_EQ(meant_by(name, kKnown), meant) << name;
  }
  EXPECT_EQ(meant_by(std::string(1 << 20, 'a'), kKnown), "");
  EXPECT_EQ(meant_by("chat", {}), "");
}

}  // namespace
}  // namespace kinglet
