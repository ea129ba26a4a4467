// The supported part of JSON Schema (draft 2020-12), and functions that read keywords.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "json/json.h"

namespace kinglet::schema {

struct Merged;

// The value of a keyword: as the schema has it, or as merging several schemas made it. It does not
// own what it refers to.
struct Content {
  const Json* json = nullptr;
  const Merged* merged = nullptr;
};

// A schema is a Content, too: as it was given, or several that are all required.
using Schema = Content;

struct Merged {
  // The schemas that are required together, the items of a list, or the schemas of the properties
  // in `names`.
  std::vector<Content> contents = {};
  std::vector<std::string_view> names = {};
  bool is_negated = false;  // values are valid if they are not valid under the only schema
};

// Keywords of PlainSchema that schemas cannot have. A list must contain an item of each of these
// schemas; an object must have a property whose name is valid under the first schema and whose
// value is valid under the second one; and values must not be what the others say.
constexpr std::string_view kContainsEach = "contains each";
constexpr std::string_view kSomeProperty = "some property";
constexpr std::string_view kNotEnum = "not enum";
constexpr std::string_view kNotPattern = "not pattern";
constexpr std::string_view kNotMultipleOf = "not multipleOf";

// A schema without references, combinations ("allOf" …) and "const".
struct PlainSchema {
  std::vector<std::pair<std::string_view, Content>> keywords = {};  // none occurs twice
  bool is_combined = false;  // from several schemas that name properties

  // Returns null if the keyword is absent.
  const Content* find(std::string_view keyword) const;
  bool has(std::string_view keyword) const { return find(keyword) != nullptr; }
  void set(std::string_view keyword, Content content);
  void remove(std::string_view keyword);
};

constexpr auto kTypeNames = std::to_array<std::string_view>(
    {"object", "array", "string", "number", "integer", "boolean", "null"});

// Whether the value has the type of this name.
bool is_of_type(const Json& value, std::string_view type);

// The keywords of JSON Schema, drafts 4 to 2020-12, that can limit values, and "nullable" of
// OpenAPI.
std::vector<std::string_view> limiting_keywords();

// Whether it is one of these, or an annotation of JSON Schema or OpenAPI.
bool is_known_keyword(std::string_view keyword);

// Returns the type of values to which the keyword applies: "object", "array", "string" or "number";
// empty for "type" and "enum".
std::string_view type_of_keyword(std::string_view keyword);

// Why a schema is refused, and where. Conversions check it where they would go on for long, and at
// their end, but not after each step: after a refusal, their results mean nothing.
class Refusal {
 public:
  explicit Refusal(const Cancellation& cancellation = {}) : cancellation_(cancellation) {}

  // Only the first one counts. `at`: the place in the schema, such as "#/properties/name".
  void set(std::string_view at, std::string_view message);
  // The message is that `what` is not supported, and why.
  void set(std::string_view at, std::string_view what, const Error& reason);

  // Counts steps of work, whose number grows with the square of a schema's size or faster. Refuses
  // a schema that takes too many, and one whose conversion is cancelled.
  void count(size_t n_steps = 1);

  bool is_set() const { return !message_.empty(); }
  // An ErrorCode::invalid_argument, or ErrorCode::cancelled.
  Error error() const { return {code_, message_}; }

 private:
  Cancellation cancellation_;
  size_t n_steps_ = 0;
  size_t n_checked_ = 0;  // the steps at which the cancellation was looked at
  ErrorCode code_ = ErrorCode::invalid_argument;
  std::string message_;
};

// Returns the value as JSON, cut where it is long: for messages.
std::string shown(const Json& value);

// Returns a place below another, as a JSON pointer. What is very long is left out.
std::string below(std::string_view at, std::string_view key);
std::string below(std::string_view at, std::string_view keyword, std::string_view key);
std::string below(std::string_view at, std::string_view keyword, size_t index);

// Whether it has members, but none of JSON Schema's keywords, so that any value is valid under it:
// it is probably an example.
bool lacks_keywords(const Json& schema);

// Refuses what has the schema inside, as OpenAI's "json_schema" does.
void check_is_schema(const Json& schema, Refusal& refusal);

// Refuses schemas of too many properties or values.
void check_size(const Json& schema, Refusal& refusal);

// Calls visit() for every member of every object in the schema, and continues in those for which it
// returns true. `at`: the object's place.
void visit_members(const Json& schema,
                   const std::function<bool(std::string_view at, std::string_view keyword,
                                            const Json& content)>& visit);

struct CheckedSchema {
  std::optional<bool> boolean = {};             // of schemas that allow anything or nothing
  std::vector<std::string_view> keywords = {};  // that affect which values are valid
};

// Refuses unknown keywords.
CheckedSchema check_schema(Schema schema, std::string_view at, Refusal& refusal);

struct Property {
  std::string_view name;
  Schema schema;
};

// These read a keyword, and refuse values of wrong types. If the keyword is absent, the result is
// empty.
std::vector<Content> list_of(const PlainSchema& schema, std::string_view keyword,
                             std::string_view at, Refusal& refusal);
// "properties" or "patternProperties".
std::vector<Property> properties_of(const PlainSchema& schema, std::string_view keyword,
                                    std::string_view at, Refusal& refusal);
std::vector<std::string_view> required_of(const PlainSchema& schema, std::string_view at,
                                          Refusal& refusal);
std::vector<std::string_view> types_of(const PlainSchema& schema, std::string_view at,
                                       Refusal& refusal);
// "pattern" or "format".
std::vector<std::string_view> texts_of(const PlainSchema& schema, std::string_view keyword,
                                       std::string_view at, Refusal& refusal);
const Json* number_of(const PlainSchema& schema, std::string_view keyword, std::string_view at,
                      Refusal& refusal);

// How many items or characters there may be.
struct Limits {
  uint64_t least = 0;
  uint64_t most = UINT64_MAX;
};
Limits limits_of(const PlainSchema& schema, std::string_view least, std::string_view most,
                 std::string_view at, Refusal& refusal);

}  // namespace kinglet::schema
