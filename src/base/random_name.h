#pragma once

#include <cstddef>
#include <string>

namespace kinglet {

// Returns random letters and digits.
std::string random_name(size_t length);

}  // namespace kinglet
