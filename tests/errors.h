// Expectations of errors.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "base/result.h"

namespace kinglet {

// Expects this error, and exactly this message.
template <class T>
void expect_error(const Result<T>& result, ErrorCode code, std::string_view message) {
  ASSERT_FALSE(result.ok()) << "expected: " << message;
  EXPECT_EQ(error_code_name(result.error().code), error_code_name(code));
  EXPECT_EQ(result.error().message, message);
}

}  // namespace kinglet
