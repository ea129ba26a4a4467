// Calls of tools as the families of models write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/answer/literal.h"

namespace kinglet {

// A tool that the model was told of.
struct KnownTool {
  std::string name;
  std::vector<std::string> text_parameters;  // those whose values are strings, whatever they spell
};

// Null where none has that name.
const KnownTool* find_tool(const std::vector<KnownTool>& tools, std::string_view name);

enum class CallSyntax : uint8_t {
  json,          // {"name": "f", "arguments": {"x": 1}}            (Hermes, Llama 3, Granite)
  named_json,    // f[ARGS]{"x": 1}, f[CALL_ID]id[ARGS]{"x": 1}     (Mistral)
  python,        // f(x=1)                                          (LFM2)
  named_object,  // call:f{x:1}                                     (Gemma 4, FunctionGemma)
  parameters,    // <function=f><parameter=x>1</parameter></function>          (Qwen 3.5)
  xml,           // <function name="f"><param name="x">1</param></function>    (MiniCPM5)
};

// What is known of a call from the beginning of its text.
struct CallPrefix {
  Reading reading = Reading::open;
  std::string name;       // empty until it is whole
  std::string arguments;  // a JSON object, as far as it is certain: it only grows with the text
  size_t n_bytes = 0;     // of a whole call
};

// Reads the call that `text` begins with. `quote` is a mark around strings beside the usual ones.
// JSON is read in every syntax, as a model may have been told to write it.
CallPrefix read_call(CallSyntax syntax, std::string_view text, std::string_view quote,
                     const std::vector<KnownTool>& tools);

}  // namespace kinglet
