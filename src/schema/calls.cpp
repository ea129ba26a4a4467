#include "schema/calls.h"

#include <utility>

#include "base/format.h"
#include "grammar/gbnf_parser.h"
#include "schema/compiler.h"
#include "schema/notation.h"
#include "schema/strings.h"
#include "schema/texts.h"

namespace kinglet {
namespace {

using schema::GrammarRules;
using schema::Notation;
using schema::piece;

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Returns an expression of the arguments of a call, in which the names in `known` are those of
// texts. A tool without parameters has no arguments, as in OpenAI's API.
Result<Expression> arguments_of(const Json& tool, const KnownTool& known, const Notation& notation,
                                const SchemaOptions& options, GrammarRules& rules) {
  static const Json nothing = {{"type", "object"}, {"additionalProperties", false}};
  const std::string name = print(known.name);
  if (notation.pieces.has_plain_names && !schema::is_plain_name(known.name, notation.pieces)) {
    return invalid(cat("this model cannot call a tool named ", name));
  }
  const Json* function = tool.find("function");
  const Json* parameters = function == nullptr ? nullptr : function->find("parameters");
  schema::SchemaCompiler compiler(parameters == nullptr ? nothing : *parameters, notation, rules,
                                  {0, options.open_objects, options.cancellation});
  auto arguments = compiler.compile_arguments(known.text_parameters);
  if (!arguments.ok()) {
    return Error{arguments.error().code, cat("the tool ", name, ": ", arguments.error().message)};
  }
  if (!arguments.value().empty()) return arguments;
  return invalid(cat("the tool ", name, ": its parameters do not allow any object"));
}

// Returns the rest of a thought that has begun; empty if none has.
Result<Expression> rest_of_thought(bool is_thinking, const AnswerFormat& format,
                                   const std::vector<MarkToken>& marks, GrammarRules& rules) {
  if (!is_thinking) return Expression();
  const std::string_view end = format.thoughts->end;
  schema::Languages languages;
  KINGLET_ASSIGN(
      const Expression text,
      schema::language_expression(schema::texts_without(end, languages), languages, {}, rules));
  return sequence({text, piece(end, marks), repeat(literal("\n"), 0, 2)});
}

}  // namespace

Result<Grammar> grammar_of_calls(const CallRules& given, bool is_thinking) {
  const CallNotation& pieces = *given.format.calls.notation;
  const auto piece_of = [&](std::string_view text) { return piece(text, given.marks); };
  const Notation notation{pieces, given.marks};
  GrammarRules rules;
  if (pieces.has_python_strings) {
    std::string character(schema::kAnyJsonCharacter);
    character.erase(character.find('/'), 1);
    rules.define(schema::CommonRule::character, gbnf_expression(character));
  }
  const Expression id = repeat(one_of({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}), 9, 9);
  std::vector<Expression> calls;
  // What is too large already is refused, so the other tools need not be compiled.
  uint64_t n_steps = 0;
  for (size_t i = 0; i < given.known.size() && n_steps <= kMaxGrammarSteps; ++i) {
    if (given.options.cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    KINGLET_ASSIGN(
        const Expression arguments,
        arguments_of(given.tools.as_array()[i], given.known[i], notation, given.options, rules));
    const std::string name = print(given.known[i].name);
    const Expression marked_id =
        pieces.id_mark.empty() ? Expression() : sequence({piece_of(pieces.id_mark), id});
    calls.push_back(sequence({literal(name.substr(1, name.size() - 2)), marked_id,
                              piece_of(pieces.name_end), arguments}));
    n_steps += calls.back().n_steps();
  }
  Expression call = rules.add(alternatives(calls));
  if (!pieces.id_member.empty()) {
    const Expression member = sequence({literal(pieces.id_member), id, literal("\"")});
    call = sequence({call, repeat(member, 0, 1)});
  }
  Expression others;
  if (given.may_be_several && !pieces.between.empty()) {
    others = repeat(sequence({piece_of(pieces.between), call}), 0, kUnlimited);
  }
  KINGLET_ASSIGN(const Expression thought,
                 rest_of_thought(is_thinking, given.format, given.marks, rules));
  return rules.grammar(
      sequence({thought, piece_of(pieces.begin), call, others, piece_of(pieces.end)}));
}

Result<Grammar> grammar_of_answer(const Json& schema, const AnswerFormat& format,
                                  const std::vector<MarkToken>& marks, bool is_thinking,
                                  const SchemaOptions& options) {
  GrammarRules rules;
  KINGLET_ASSIGN(const Expression thought, rest_of_thought(is_thinking, format, marks, rules));
  KINGLET_ASSIGN(const Expression answer, schema::schema_expression(schema, rules, options));
  return rules.grammar(sequence({thought, answer}));
}

}  // namespace kinglet
