// Reads calls of tools as the families of models write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/answer/literal.h"

namespace kinglet {

// The types of JSON schema, as bits.
enum ValueTypes : uint8_t {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kNumberType = 8,  // that is not an integer
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
  kAnyType = 127,
};

// A parameter whose value may be a string or something else. A text is a string if it is not a
// value of the other types.
struct MixedParameter {
  std::string name;
  uint8_t types = kAnyType;
};

// A tool that was described to the model. Parameters that are not listed may have any type.
struct KnownTool {
  std::string name;
  std::vector<std::string> text_parameters = {};  // strings, whatever the text looks like
  std::vector<MixedParameter> mixed_parameters = {};
};

// Returns the type of a value, given as JSON without space around it.
uint8_t type_of_json(std::string_view json);

// Returns null if no tool has that name.
const KnownTool* find_tool(const std::vector<KnownTool>& tools, std::string_view name);

enum class CallSyntax : uint8_t {
  json,  // {"name": "f", "arguments": {"x": 1}}            (Hermes, Llama 3, Granite; Command has
         // other keys)
  keyed_json,         // {"f": {"x": 1}}                                 (Apertus)
  named_json,         // f[ARGS]{"x": 1}, f[CALL_ID]id[ARGS]{"x": 1}     (Mistral)
  named_line,         // f\n{"x": 1}                                     (GLM-4)
  python,             // f(x=1)                                          (LFM2, OLMo 3)
  named_object,       // call:f{x:1}                                     (Gemma 4, FunctionGemma)
  parameters,         // <function=f>\n<parameter=x>\n1\n</parameter>\n</function> (Qwen 3.5)
  inline_parameters,  // <function=f>\n<parameter=x>1</parameter>\n</function> (Seed-OSS)
  pairs,              // f\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>       (GLM-4.5)
  blocks,             // <tool_call>f\n```json\n{"x": 1}\n```\n</tool_call>, or pairs (Hunyuan)
  xml,                // <function name="f"><param name="x">1</param></function>    (MiniCPM5)
};

// What the beginning of its text says about a call.
struct CallPrefix {
  Reading reading = Reading::open;
  std::string name;       // empty until the name is complete
  std::string arguments;  // the certain part of a JSON object: more text can only extend it
  bool has_whole_arguments = false;
  size_t n_bytes = 0;  // how many bytes of the text were read; for a whole call, its size
};

// Whether `text` is the JSON of an object and nothing else.
bool is_json_object(std::string_view text);

// Reads the call that `text` begins with. `quote` is a mark around strings, in addition to the
// usual quotes. JSON is read in every syntax, because a model may have been asked to write JSON.
CallPrefix read_call(CallSyntax syntax, std::string_view text, std::string_view quote,
                     const std::vector<KnownTool>& tools);

}  // namespace kinglet
