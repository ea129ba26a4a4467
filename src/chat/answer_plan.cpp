#include "chat/answer_plan.h"

#include <utility>

#include "base/format.h"
#include "schema/calls.h"
#include "schema/schema.h"

namespace kinglet {
namespace {

// Returns the grammar of the calls, or of the texts that are valid under the schema.
Result<Grammar> demanded_grammar(const AnswerDemands& demands, const AnswerPlan& plan,
                                 bool is_thinking, bool open_objects, const Tokenizer& tokenizer) {
  const std::vector<MarkToken> marks = mark_tokens(plan.format, tokenizer);
  const SchemaOptions options{demands.indent, open_objects, demands.cancellation};
  if (demands.must_call) {
    return grammar_of_calls(
        {demands.tools, plan.tools, plan.format, marks, demands.may_call_several, options},
        is_thinking);
  }
  return grammar_of_answer(*demands.schema, plan.format, marks, is_thinking, options);
}

Error useless_grammar(const AnswerDemands& demands, const Error& reason) {
  const bool never_ends = reason.message.ends_with(kNeverEnds);
  if (!demands.must_call) {
    return {ErrorCode::invalid_argument, never_ends ? "the JSON schema, at #: no value is valid: "
                                                      "each would contain another one, without end"
                                                    : largest_part_of_schema(*demands.schema)};
  }
  if (never_ends) {
    return {ErrorCode::invalid_argument,
            "the tools: no arguments are valid: each value would contain another one, without end"};
  }
  return {ErrorCode::invalid_argument,
          cat("the tools: all ", demands.tools.as_array().size(), " are too large together; ",
              largest_part_of_schema(demands.tools))};
}

Result<SharedGrammar> grammar_of(const AnswerDemands& demands, const AnswerPlan& plan,
                                 bool is_thinking, const Tokenizer& tokenizer) {
  const bool is_free = !demands.must_call && demands.schema == nullptr;
  if (!demands.grammar.empty()) {
    if (is_free) return parse_shared_grammar(demands.grammar, tokenizer.n_tokens());
    return Error{ErrorCode::invalid_argument,
                 "an answer cannot match a grammar and also a schema or required tool calls"};
  }
  if (is_free) return SharedGrammar();
  // An object that needs a property may need another such object in it, without end, unless it may
  // have properties that are not named.
  for (const bool open_objects : {demands.open_objects, true}) {
    auto grammar = shared(demanded_grammar(demands, plan, is_thinking, open_objects, tokenizer));
    if (demands.cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    if (grammar.ok()) return grammar;
    if (grammar.error().code != ErrorCode::invalid_grammar) return grammar.error();
    const bool never_ends = grammar.error().message.ends_with(kNeverEnds);
    if (open_objects || !never_ends) return useless_grammar(demands, grammar.error());
  }
  return SharedGrammar();
}

}  // namespace

AnswerReader AnswerPlan::reader() const {
  AnswerReader reader(format, tools, prompt);
  std::vector<AnswerPart> known;
  reader.push(prefix, known);
  return reader;
}

void AnswerPlan::constrain(GenerationOptions& options) const {
  for (const std::string_view mark : marks()) options.marks.emplace_back(mark);
  options.grammar = grammar;
}

Result<AnswerPlan> plan_answer(const AnswerFormat& format, const AnswerDemands& demands,
                               std::string_view prompt, std::string_view prefix,
                               const Tokenizer& tokenizer) {
  KINGLET_ASSIGN(std::vector<KnownTool> tools, known_tools(demands.tools));
  AnswerPlan plan{.format = format,
                  .tools = std::move(tools),
                  .prompt = std::string(prompt),
                  .prefix = std::string(prefix),
                  .n_calls_most = demands.may_call_several ? SIZE_MAX : 1};
  const bool is_thinking = plan.reader().is_thinking();
  KINGLET_ASSIGN(plan.grammar, grammar_of(demands, plan, is_thinking, tokenizer));
  if (demands.schema != nullptr) plan.warnings = warnings_of_schema(*demands.schema);
  // The grammar of a schema holds the rest of a thought that has begun; a given grammar does not,
  // but it may begin a thought itself.
  const bool is_all_text = is_thinking ? !demands.grammar.empty() : demands.schema != nullptr;
  if (is_all_text && !demands.must_call) plan.format.thoughts.reset();
  if (demands.n_thinking_most && demands.grammar.empty() && plan.format.thoughts) {
    const std::string_view end = plan.format.thoughts->end;
    plan.thought_limit.emplace(is_thinking, *demands.n_thinking_most,
                               tokenizer.encode(end, {.add_bos = false, .parse_special = true}));
  }
  return plan;
}

}  // namespace kinglet
