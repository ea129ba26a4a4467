// Converts one schema to the rules of a grammar.
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

// Returns an expression of the JSON texts that are valid under the schema: see grammar_of_schema().
Result<Expression> schema_expression(const Json& schema, GrammarRules& rules,
                                     const SchemaOptions& options);

// Expressions are empty where no value is valid.
class SchemaCompiler {
 public:
  // `indent` is only for JSON.
  SchemaCompiler(const Json& schema, const Notation& notation, GrammarRules& rules,
                 const SchemaOptions& options);

  // Converts values.
  Result<Expression> compile();

  // Converts the arguments of a call, which are an object. Those named in `texts` are strings.
  Result<Expression> compile_arguments(const std::vector<std::string>& texts);

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
    int n_open = 0;   // how often it is being converted
    Expression rule;  // if it contains itself
    Expression converted;
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
    Expression text;
    bool is_required;
  };

  // What is between the braces of an object.
  struct Members {
    const std::vector<Member>& declared;
    const Expression& pair;  // any other property; empty: there are none
    const Expression& some;  // one of the others that there must be; may be empty
    const Limits& limits;
    bool may_be_shuffled;
  };

  // Refuses the schema, and returns an empty expression.
  Expression refuse(std::string_view at, std::string_view message);

  Expression convert(Schema schema, std::string_view at);
  Expression convert_inside(Place place, Schema schema, std::string_view at);
  Expression convert_once(Schema schema, std::string_view at);
  Expression convert_checked(const CheckedSchema& checked, Schema schema, std::string_view at);
  Expression reference(const Json& reference, std::string_view at);
  Expression plain(const PlainSchema& schema, std::string_view at);
  Expression of_type(std::string_view type, const PlainSchema& schema, std::string_view at);

  Expression enumeration(const PlainSchema& schema, std::string_view at);
  std::vector<const Json*> enumerated(const PlainSchema& schema, std::string_view at);
  bool is_valid(Schema schema, const Json& value, std::string_view at);
  ValueRules rules_for_values(const PlainSchema& schema, std::string_view at);
  bool is_listed(const ValueRules& rules, std::string_view keyword, const Json& value,
                 std::string_view at);
  bool allows(ValueRules& rules, const Json& value, std::string_view at);
  bool allows_number(const PlainSchema& schema, const Json& value, std::string_view at);
  bool allows_list(const PlainSchema& schema, const Json::Array& items, std::string_view at);
  bool allows_object(ValueRules& rules, const Json& value, std::string_view at);
  Expression spelled(const Json& value, bool is_text, std::string_view at);
  Expression spelled_string(std::string_view text, bool is_text, std::string_view at);
  Expression spelled_parts(const Json& value, std::string_view at);

  Expression object(const PlainSchema& schema, std::string_view at);
  void object_with_some(const PlainSchema& schema, std::span<const Content> left,
                        const OtherProperties* other, std::string_view at,
                        std::vector<Expression>& objects);
  Expression object_of(const PlainSchema& schema, const OtherProperties* some, std::string_view at);
  PropertyNames names_of(Schema schema, std::string_view place);
  ObjectParts object_parts(const PlainSchema& schema, std::string_view at);
  PropertyNames property_names(const PlainSchema& schema, std::string_view at);
  Expression property(std::string_view name, const ObjectParts& parts, std::string_view at);
  Expression other_properties(const ObjectParts& parts, const OtherProperties* some,
                              std::string_view at);
  void check_name(std::string_view name, std::string_view at);
  Expression pair(const Language* names, Schema schema, std::string_view at);
  Expression braces(const Members& parts, std::string_view at);
  Expression shuffled_members(const std::vector<Member>& members, const Expression& pair);
  Expression counted_members(const std::vector<Member>& members, const Expression& pair,
                             const Limits& limits, std::string_view at);
  std::vector<Expression> key(std::string_view name, std::string_view at);
  std::vector<Expression> any_key(const Language* names, bool is_argument, std::string_view at);
  Expression member(std::vector<Expression> key, Expression value) const;

  Expression anything(std::string_view at);
  Expression any_value();
  Expression list(const PlainSchema& schema, std::string_view at);
  Expression plain_list(const ListParts& parts);
  Expression counted_list(const PlainSchema& schema, const ListParts& parts, std::string_view at);
  Expression unique_list(const std::vector<Json>& values, const ListParts& parts,
                         std::string_view at);
  std::optional<std::vector<Json>> values_of(Schema schema, std::string_view at);
  Expression brackets(const std::vector<Expression>& tuple, const Expression& item, uint64_t least,
                      uint64_t most);
  Expression enclosed(char open, const Expression& inside, char close, bool may_be_empty) const;

  Expression string(const PlainSchema& schema, bool is_text, std::string_view at);
  Expression string_as(const Spelling& spelling, const PlainSchema& schema, std::string_view at);
  Expression any_text(const Spelling& spelling);
  Expression any_character(const Spelling& spelling);
  std::vector<std::string> patterns_of(const PlainSchema& schema, std::string_view at);
  const Language* texts(const PlainSchema& schema, std::string_view at);
  const Language* texts_of_any_length(const PlainSchema& schema, std::string_view at);
  const Language* pattern_texts(const std::string& pattern, std::string_view at);
  Expression of_language(const Spelling& spelling, const Language* texts, std::string_view at);
  void count_pattern(std::string_view pattern);
  void refuse_pattern(std::string_view pattern, const Error& reason, std::string_view at);
  void check_work();

  Expression number(std::string_view type, const PlainSchema& schema, std::string_view at);

  // Whether the current value is a call's arguments in a notation of their own.
  bool are_tagged() const { return place_ == Place::arguments && notation_.has_arguments(); }
  const std::vector<Spelling>& spellings(bool is_text);

  bool is_indented() const { return level_ < n_levels_; }
  std::string line_break(size_t n_deeper) const;
  Expression comma() const;
  Expression colon() const;

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
    Expression rule;
    bool is_used = false;  // inside itself, or again
  };
  std::unordered_map<std::string, Reference> references_;
  // Rules for any value, by level, and for any text.
  std::unordered_map<size_t, Expression> any_values_;
  std::unordered_map<const Spelling*, Expression> any_texts_;
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
