// Converts one schema to GBNF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "schema/keywords.h"
#include "schema/language.h"
#include "schema/notation.h"
#include "schema/resolve.h"
#include "schema/rules.h"
#include "schema/schema.h"

namespace kinglet::schema {

// Returns GBNF for the JSON texts that are valid under the schema: see grammar_of_schema().
Result<std::string> schema_to_gbnf(const Json& schema, GrammarRules& rules,
                                   const SchemaOptions& options);

// Functions that return GBNF return an empty text if no value is valid.
class SchemaCompiler {
 public:
  // `indent` is only for JSON.
  SchemaCompiler(const Json& schema, const Notation& notation, GrammarRules& rules,
                 const SchemaOptions& options);

  // Converts values.
  Result<std::string> compile();

  // Converts the arguments of a call, which are an object. Those named in `texts` are strings.
  Result<std::string> compile_arguments(const std::vector<std::string>& texts);

 private:
  // What is being written: the arguments of a call, one argument that is a string, one argument
  // that is not, or any other value.
  enum class Place : uint8_t { arguments, text, argument, value };

  using Names = std::vector<std::string_view>;

  struct PropertyNames {
    const Language* language = nullptr;
    std::optional<Names> all = {};  // if the schema lists them
  };

  // Properties that are not declared by name.
  struct OtherProperties {
    const Language* names;
    Schema schema;
    std::string at;
  };

  // What a schema says of objects.
  struct ObjectParts {
    Names declared;  // in the order in which they are written
    std::unordered_map<std::string_view, Schema> properties;
    std::vector<OtherProperties> patterns;
    Schema undeclared;  // of all other properties
    bool is_open;       // there may be some
    bool is_narrowed;   // there may not, but the schema does not say so
    PropertyNames names;
    std::unordered_set<std::string_view> required;
    Limits limits;
    bool is_combined;
  };

  // What a schema says of lists.
  struct ListParts {
    std::vector<std::pair<Schema, std::string>> prefix = {};  // with their places
    Schema items = {};                                        // behind the prefix
    std::string items_at = {};
    uint64_t least;
    uint64_t most;
  };

  // A schema of values inside others, and its conversion.
  struct InsideKey {
    const void* schema;  // JSON, or what was merged
    Place place;
    size_t level;

    bool operator==(const InsideKey&) const = default;
  };
  struct InsideHash {
    size_t operator()(const InsideKey& key) const {
      return std::hash<const void*>()(key.schema) * 31 + key.level;
    }
  };
  struct Inside {
    int n_open = 0;    // how often it is being converted
    std::string rule;  // the name of its rule, if it contains itself
    std::string gbnf;
    bool is_empty = false;  // no value is valid
  };

  // A plain schema, made ready to look at many values.
  struct ValueRules {
    PlainSchema schema;
    Names types = {};
    Names limited = {};               // the types that its keywords apply to
    const Language* texts = nullptr;  // of strings; null: not known yet
    std::unordered_map<std::string_view, Schema> named = {};  // by "properties"
  };

  struct Member {
    std::string text;  // GBNF
    bool is_required;
  };

  // What is between the braces of an object.
  struct Members {
    const std::vector<Member>& declared;
    const std::string& pair;  // any other property; empty: there are none
    const std::string& some;  // one of the others that there must be; may be empty
    const Limits& limits;
    bool may_be_shuffled;
  };

  // Refuses the schema, and returns an empty text.
  std::string refuse(std::string_view at, std::string_view message);

  std::string convert(Schema schema, std::string_view at);
  std::string convert_inside(Place place, Schema schema, std::string_view at);
  std::string convert_once(Schema schema, std::string_view at);
  std::string convert_checked(const CheckedSchema& checked, Schema schema, std::string_view at);
  std::string reference(const Json& reference, std::string_view at);
  std::string plain(const PlainSchema& schema, std::string_view at);
  std::string of_type(std::string_view type, const PlainSchema& schema, std::string_view at);

  std::string enumeration(const PlainSchema& schema, std::string_view at);
  std::string one_of_texts(std::vector<std::string> texts, std::string_view at);
  std::string as_rule(const std::string& text, std::string_view at);
  std::vector<const Json*> enumerated(const PlainSchema& schema, std::string_view at);
  bool is_valid(Schema schema, const Json& value, std::string_view at);
  ValueRules rules_for_values(const PlainSchema& schema, std::string_view at);
  bool is_listed(const ValueRules& rules, std::string_view keyword, const Json& value,
                 std::string_view at);
  bool allows(ValueRules& rules, const Json& value, std::string_view at);
  bool allows_number(const PlainSchema& schema, const Json& value, std::string_view at);
  bool allows_list(const PlainSchema& schema, const Json::Array& items, std::string_view at);
  bool allows_object(ValueRules& rules, const Json& value, std::string_view at);
  std::string spelled(const Json& value, bool is_text, std::string_view at);
  std::string spelled_string(std::string_view text, bool is_text, std::string_view at);
  std::string spelled_parts(const Json& value, std::string_view at);

  std::string object(const PlainSchema& schema, std::string_view at);
  void object_with_some(const PlainSchema& schema, std::span<const Content> left,
                        const OtherProperties* other, std::string_view at,
                        std::vector<std::string>& objects);
  std::string object_of(const PlainSchema& schema, const OtherProperties* some,
                        std::string_view at);
  PropertyNames names_of(Schema schema, std::string_view place);
  ObjectParts object_parts(const PlainSchema& schema, std::string_view at);
  PropertyNames property_names(const PlainSchema& schema, std::string_view at);
  std::string property(std::string_view name, const ObjectParts& parts, std::string_view at);
  std::string other_properties(const ObjectParts& parts, const OtherProperties* some,
                               std::string_view at);
  void check_name(std::string_view name, std::string_view at);
  std::string pair(const Language* names, Schema schema, std::string_view at);
  std::string braces(const Members& parts, std::string_view at);
  std::string shuffled_members(const std::vector<Member>& members, const std::string& pair,
                               std::string_view at);
  std::string counted_members(const std::vector<Member>& members, const std::string& pair,
                              const Limits& limits, std::string_view at);
  std::vector<std::string> key(std::string_view name, std::string_view at);
  std::vector<std::string> any_key(const Language* names, bool is_argument, std::string_view at);
  std::string member(std::vector<std::string> key, std::string value) const;

  std::string anything(std::string_view at);
  std::string any_value();
  std::string list(const PlainSchema& schema, std::string_view at);
  std::string plain_list(const ListParts& parts, std::string_view at);
  std::string counted_list(const PlainSchema& schema, const ListParts& parts, std::string_view at);
  std::string unique_list(const std::vector<Json>& values, const ListParts& parts,
                          std::string_view at);
  std::optional<std::vector<Json>> values_of(Schema schema, std::string_view at);
  std::string brackets(const std::vector<std::string>& tuple, const std::string& item,
                       uint64_t least, uint64_t most, std::string_view at);
  std::string enclosed(char open, const std::string& inside, char close, bool may_be_empty) const;

  std::string string(const PlainSchema& schema, bool is_text, std::string_view at);
  std::string string_as(const Spelling& spelling, const PlainSchema& schema, std::string_view at);
  std::string any_text(const Spelling& spelling);
  std::string any_character(const Spelling& spelling);
  std::vector<std::string> patterns_of(const PlainSchema& schema, std::string_view at);
  const Language* texts(const PlainSchema& schema, std::string_view at);
  const Language* texts_of_any_length(const PlainSchema& schema, std::string_view at);
  const Language* pattern_texts(const std::string& pattern, std::string_view at);
  std::string of_language(const Spelling& spelling, const Language* texts, std::string_view at);
  void count_pattern(std::string_view pattern);
  void refuse_pattern(std::string_view pattern, const Error& reason, std::string_view at);
  void check_work();

  std::string number(std::string_view type, const PlainSchema& schema, std::string_view at);

  // Whether the current value is a call's arguments in a notation of their own.
  bool are_tagged() const { return place_ == Place::arguments && notation_.has_arguments(); }
  const std::vector<Spelling>& spellings(bool is_text);

  bool is_indented() const { return level_ < n_levels_; }
  std::string line_break(size_t n_deeper) const;
  std::string comma() const;
  std::string colon() const;

  const Json& schema_;
  const Notation& notation_;
  GrammarRules& rules_;
  const size_t indent_;
  const size_t n_levels_;
  const bool are_objects_open_;
  Refusal refusal_;
  SchemaResolver resolver_;
  Languages languages_;
  const std::vector<Spelling> quoted_;
  std::vector<Spelling> unquoted_;
  std::unordered_set<std::string_view> text_names_;
  struct Reference {
    std::string rule;
    bool is_used = false;  // inside itself, or again
  };
  std::unordered_map<std::string, Reference> references_;
  // Names of rules that were made for any value and for any text.
  std::unordered_map<std::string, std::string> rule_names_;
  std::unordered_set<std::string> empty_references_;  // for which no value is valid
  std::unordered_map<InsideKey, Inside, InsideHash> inside_;
  // By schema, and the canonical texts of lists, sorted, by list.
  std::unordered_map<const void*, std::vector<ValueRules>> value_rules_;
  std::unordered_map<const void*, std::vector<std::string>> listed_;
  std::unordered_map<std::string, const Language*> patterns_;

  int depth_ = 0;
  Place place_ = Place::value;
  size_t level_ = 0;  // how many indented objects and lists are around the current value
  // The references that are being followed, and whose value has not begun.
  std::unordered_set<std::string> open_;
};

}  // namespace kinglet::schema
