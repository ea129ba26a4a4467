#include "server/call_grammar.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "server/json_schema.h"
#include "server/value_style.h"

namespace kinglet::server {
namespace {

constexpr std::string_view kId = "[a-zA-Z0-9]{9}";

ApiResult<std::string> grammar_of_call(const Json& tool, const KnownTool& known,
                                       const CallNotation& notation,
                                       const std::vector<MarkToken>& marks, const ValueStyle& style,
                                       SchemaRules& rules) {
  if (notation.has_plain_names && !is_plain_name(known.name)) {
    return invalid(cat("this model cannot call a tool of the name ", print(known.name)), "tools");
  }
  const Json& given = tool["function"]["parameters"];
  const Json parameters = given.is_null() ? Json::object() : given;
  auto arguments = compile_arguments(parameters, known.text_parameters, style, rules);
  if (!arguments.ok()) {
    return invalid(cat("the tool \"", known.name, "\": ", arguments.error().message), "tools");
  }
  const std::string name = print(known.name);
  return cat(literal(std::string_view(name).substr(1, name.size() - 2)), " call-id ",
             piece(notation.name_end, marks), " ", arguments.value());
}

// GBNF of the rest of a thought, and the rules that it refers to. Both are empty if the end of the
// prompt has begun none.
struct RestOfThought {
  std::string expression;
  std::string rules;
};

RestOfThought rest_of_thought(const AnswerFormat& format, std::string_view prompt,
                              const std::vector<MarkToken>& marks) {
  if (!format.is_thinking_after(prompt)) return {};
  const std::string_view end = format.thoughts->end;
  return {cat("thought ", piece(end, marks), " \"\\n\"{0,2} "), rules_of_text("thought", end)};
}

}  // namespace

std::string grammar_of_answer(const SchemaGrammar& schema, const AnswerFormat& format,
                              const Tokenizer& tokenizer, std::string_view prompt) {
  const RestOfThought thought = rest_of_thought(format, prompt, mark_tokens(format, tokenizer));
  return cat("root ::= ", thought.expression, schema.value, "\n", thought.rules, schema.rules);
}

ApiResult<std::string> grammar_of_calls(const CallRules& given, std::string_view prompt) {
  const CallNotation& notation = *given.format.calls.notation;
  const std::vector<MarkToken> marks = mark_tokens(given.format, given.tokenizer);
  const ValueStyle style(notation, marks);
  SchemaRules rules;
  std::vector<std::string> calls;
  for (size_t i = 0; i < given.tools.size(); ++i) {
    KINGLET_ASSIGN(std::string call,
                   grammar_of_call(given.tools[i], given.known[i], notation, marks, style, rules));
    calls.push_back(std::move(call));
  }
  const bool may_be_several = given.may_be_several && !notation.between.empty();
  const std::string others =
      may_be_several ? cat(" (", piece(notation.between, marks), " call)*") : "";
  const RestOfThought thought = rest_of_thought(given.format, prompt, marks);
  rules.add_text(thought.rules);
  const std::string id_mark =
      notation.id_mark.empty() ? "\"\"" : cat(piece(notation.id_mark, marks), " ", kId);
  const std::string id_member =
      notation.id_member.empty() ? ""
                                 : cat(" (", literal(notation.id_member), " ", kId, " \"\\\"\")?");
  return cat("root ::= ", thought.expression, piece(notation.begin, marks), " call", others, " ",
             piece(notation.end, marks), "\ncall ::= ", joined(calls, " | "), id_member,
             "\ncall-id ::= ", id_mark, "\n", rules.text(), style.rules());
}

}  // namespace kinglet::server
