// Says what makes a schema's grammar too large.
#pragma once

#include <string>

#include "json/json.h"

namespace kinglet::schema {

// Returns the keyword that probably takes most of the grammar, with its place and its size.
std::string largest_part(const Json& schema);

}  // namespace kinglet::schema
