// JSON schemas (draft 2020-12) → GBNF: the part of them that answers are usually asked for in.
#pragma once

#include <string>

#include "server/api_error.h"
#include "server/json.h"

namespace kinglet::server {

// The grammar of JSON texts that are valid under the schema: objects with `properties` (in their
// order), `required` and `additionalProperties`, arrays with `items`, `minItems` and `maxItems`,
// strings, numbers, integers, booleans, null, `enum`, `const`, `anyOf`, several types, and `$ref`
// to the schema itself and to `$defs`. It may say less than the schema allows, never more: an
// object that names its properties has no others, and numbers have at most 15 digits.
//
// An error names the place and the keyword that is not supported.
ApiResult<std::string> grammar_of_schema(const Json& schema);

}  // namespace kinglet::server
