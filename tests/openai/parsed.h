// JSON in the tests of the server.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "json/json.h"

namespace kinglet::openai {

inline Json json(std::string_view text) {
  auto parsed = parse_json(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? parsed.value() : Json();
}

}  // namespace kinglet::openai
