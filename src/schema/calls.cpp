#include "schema/calls.h"

#include <utility>

#include "base/format.h"
#include "schema/compiler.h"
#include "schema/gbnf.h"
#include "schema/notation.h"
#include "schema/strings.h"
#include "schema/texts.h"

namespace kinglet {
namespace {

using schema::alternatives;
using schema::GrammarRules;
using schema::literal;
using schema::Notation;
using schema::piece;
using schema::repeat;
using schema::sequence;

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Returns GBNF for the arguments of a call, in which the names in `known` are those of texts.
Result<std::string> arguments_of(const Json& tool, const KnownTool& known, const Notation& notation,
                                 const SchemaOptions& options, GrammarRules& rules) {
  static const Json anything = Json::object();
  const std::string name = print(known.name);
  if (notation.pieces.has_plain_names && !schema::is_plain_name(known.name)) {
    return invalid(cat("this model cannot call a tool named ", name));
  }
  const Json* function = tool.find("function");
  const Json* parameters = function == nullptr ? nullptr : function->find("parameters");
  schema::SchemaCompiler compiler(parameters == nullptr ? anything : *parameters, notation, rules,
                                  {0, options.open_objects, options.cancellation});
  auto arguments = compiler.compile_arguments(known.text_parameters);
  if (!arguments.ok()) {
    return Error{arguments.error().code, cat("the tool ", name, ": ", arguments.error().message)};
  }
  if (!arguments.value().empty()) return arguments;
  return invalid(cat("the tool ", name, ": its parameters do not allow any object"));
}

// Returns GBNF for the rest of a thought, part by part.
Result<std::vector<std::string>> rest_of_thought(const AnswerFormat& format,
                                                 const std::vector<MarkToken>& marks,
                                                 GrammarRules& rules) {
  const std::string_view end = format.thoughts->end;
  schema::Languages languages;
  KINGLET_ASSIGN(std::string text, schema::language_to_gbnf(schema::texts_without(end, languages),
                                                            languages, {}, "thought", rules));
  return std::vector{std::move(text), piece(end, marks), repeat(R"("\n")", 0, 2)};
}

}  // namespace

Result<std::string> grammar_of_calls(const CallRules& given, bool is_thinking) {
  const CallNotation& pieces = *given.format.calls.notation;
  const auto piece_of = [&](std::string_view text) { return piece(text, given.marks); };
  const Notation notation{pieces, given.marks};
  GrammarRules rules;
  if (pieces.has_python_strings) {
    std::string character(schema::kAnyJsonCharacter);
    rules.define("char", character.erase(character.find('/'), 1));
  }
  const std::string id = repeat("[a-zA-Z0-9]", 9, 9);
  std::vector<std::string> calls;
  for (size_t i = 0; i < given.known.size(); ++i) {
    if (given.options.cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    KINGLET_ASSIGN(std::string arguments, arguments_of(given.tools.as_array()[i], given.known[i],
                                                       notation, given.options, rules));
    const std::string name = print(given.known[i].name);
    std::vector<std::string> call = {literal(name.substr(1, name.size() - 2))};
    if (!pieces.id_mark.empty()) call.insert(call.end(), {piece_of(pieces.id_mark), id});
    call.insert(call.end(), {piece_of(pieces.name_end), std::move(arguments)});
    calls.push_back(sequence(call));
  }
  std::string call = rules.add("call", alternatives(calls));
  if (!pieces.id_member.empty()) {
    const std::string member = sequence({literal(pieces.id_member), id, literal("\"")});
    call = sequence({call, repeat(member, 0, 1)});
  }
  std::vector<std::string> parts;
  if (is_thinking) {
    KINGLET_ASSIGN(parts, rest_of_thought(given.format, given.marks, rules));
  }
  parts.insert(parts.end(), {piece_of(pieces.begin), call});
  if (given.may_be_several && !pieces.between.empty()) {
    parts.push_back(repeat(sequence({piece_of(pieces.between), call}), 0, schema::kUnlimited));
  }
  parts.push_back(piece_of(pieces.end));
  return rules.grammar(sequence(parts));
}

Result<std::string> grammar_of_answer(const Json& schema, const AnswerFormat& format,
                                      const std::vector<MarkToken>& marks, bool is_thinking,
                                      const SchemaOptions& options) {
  GrammarRules rules;
  std::vector<std::string> parts;
  if (is_thinking) {
    KINGLET_ASSIGN(parts, rest_of_thought(format, marks, rules));
  }
  KINGLET_ASSIGN(std::string answer, schema::schema_to_gbnf(schema, rules, options));
  parts.push_back(std::move(answer));
  return rules.grammar(sequence(parts));
}

}  // namespace kinglet
