#include "text/answer/calls.h"

#include <algorithm>
#include <utility>

#include "json/escape.h"
#include "text/answer/call_notation.h"
#include "text/answer/marks.h"

namespace kinglet {

namespace {

// Completes a call that was read up to the position of `reader`.
CallPrefix finished(CallPrefix call, Reading reading, std::string_view text,
                    const LiteralReader& reader) {
  call.reading = reading;
  call.n_bytes = text.size() - reader.rest.size();
  return call;
}

// Reads the members of a call's object, or of the object under its key "function".
Reading read_members(LiteralReader& reader, CallPrefix& call, bool is_inner) {
  if (const Reading read = reader.skip("{"); read != Reading::whole) return read;
  for (bool is_first = true;; is_first = false) {
    reader.skip_space();
    if (reader.rest.starts_with('}')) {
      reader.rest.remove_prefix(1);
      return is_inner || !call.name.empty() ? Reading::whole : Reading::broken;
    }
    if (!is_first) {
      if (const Reading read = reader.skip(","); read != Reading::whole) return read;
    }
    std::string key;
    Reading read = reader.plain_string(key);
    if (read == Reading::whole) read = reader.skip(":");
    if (read != Reading::whole) return read;
    reader.skip_space();
    const bool is_string = reader.rest.starts_with('"');
    const bool is_name = key == "name" || key == "tool_name";
    if (is_name && call.name.empty()) {
      read = reader.plain_string(call.name);
    } else if (key == "function" && !is_inner && !is_string) {
      read = read_members(reader, call, true);
    } else if (key == "arguments" || key == "parameters") {
      // Some models write the arguments' JSON as a string.
      read = is_string ? reader.plain_string(call.arguments) : reader.value(call.arguments);
      call.has_whole_arguments = read == Reading::whole;
    } else if (key == "function" && call.name.empty() && is_string) {
      read = reader.plain_string(call.name);
    } else {
      std::string ignored;
      read = reader.value(ignored);
    }
    if (read != Reading::whole) return read;
  }
}

CallPrefix read_json(std::string_view text, std::string_view quote) {
  CallPrefix call;
  LiteralReader reader{text, quote};
  const Reading read = read_members(reader, call, false);
  if (read == Reading::whole && call.arguments.empty()) call.arguments = "{}";
  return finished(std::move(call), read, text, reader);
}

// Reads an object whose only key is the name; any other object, as read_json() does.
CallPrefix read_keyed_json(std::string_view text, std::string_view quote) {
  CallPrefix call;
  LiteralReader reader{text, quote};
  std::string name;
  Reading read = reader.skip("{");
  if (read == Reading::whole) read = reader.plain_string(name);
  if (read == Reading::whole) read = reader.skip(":");
  if (read == Reading::whole) {
    reader.skip_space();
    if (reader.rest.starts_with('"')) return read_json(text, quote);
    call.name = std::move(name);
    read = reader.rest.empty()            ? Reading::open
           : reader.rest.starts_with('{') ? reader.value(call.arguments)
                                          : Reading::broken;
    call.has_whole_arguments = read == Reading::whole;
  }
  if (read == Reading::whole) read = reader.skip("}");
  return finished(std::move(call), read, text, reader);
}

// Reads a name without quotes, which is whole only if something follows it.
Reading read_plain_name(LiteralReader& reader, std::string& name) {
  reader.skip_space();
  const auto end = std::find_if_not(reader.rest.begin(), reader.rest.end(), is_plain);
  if (end == reader.rest.end()) return Reading::open;
  const auto n = static_cast<size_t>(end - reader.rest.begin());
  if (n == 0) return Reading::broken;
  name = reader.rest.substr(0, n);
  reader.rest.remove_prefix(n);
  return Reading::whole;
}

CallPrefix read_named_json(std::string_view text, std::string_view quote) {
  CallPrefix call;
  LiteralReader reader{text, quote};
  Reading read = read_plain_name(reader, call.name);
  if (read == Reading::whole) {
    const size_t begin = reader.rest.find('{');
    if (reader.rest.substr(0, begin).find('\n', 1) != std::string_view::npos) {
      read = Reading::broken;
    } else if (begin == std::string_view::npos) {
      read = Reading::open;
    } else {
      reader.rest.remove_prefix(begin);
      read = reader.value(call.arguments);
    }
  }
  return finished(std::move(call), read, text, reader);
}

CallPrefix read_named_object(std::string_view text, std::string_view quote) {
  CallPrefix call;
  LiteralReader reader{text, quote};
  Reading read = reader.skip("call:");
  if (read == Reading::whole) read = read_plain_name(reader, call.name);
  if (read == Reading::whole) {
    read = reader.rest.starts_with('{') ? reader.value(call.arguments) : Reading::broken;
  }
  return finished(std::move(call), read, text, reader);
}

// Reads arguments of the form keyword=value, …)
Reading read_keywords(LiteralReader& reader, std::string& arguments) {
  arguments = "{";
  for (bool is_first = true;; is_first = false) {
    reader.skip_space();
    if (reader.rest.starts_with(')')) {
      reader.rest.remove_prefix(1);
      arguments += '}';
      return Reading::whole;
    }
    if (!is_first) {
      if (const Reading read = reader.skip(","); read != Reading::whole) return read;
      reader.skip_space();
      if (reader.rest.starts_with(')')) continue;
    }
    std::string keyword;
    Reading read = read_plain_name(reader, keyword);
    if (read == Reading::whole) read = reader.skip("=");
    if (read != Reading::whole) return read;
    if (!is_first) arguments += ',';
    arguments += '"' + keyword + "\":";
    read = reader.value(arguments);
    if (read != Reading::whole) return read;
  }
}

CallPrefix read_python(std::string_view text, std::string_view quote) {
  CallPrefix call;
  LiteralReader reader{text, quote};
  Reading read = read_plain_name(reader, call.name);
  if (read == Reading::whole) read = reader.skip("(");
  if (read == Reading::whole) read = read_keywords(reader, call.arguments);
  return finished(std::move(call), read, text, reader);
}

// The marks of a call whose arguments each have their own marks.
struct TagMarks {
  std::string_view name_begin, parameter_begin, name_end, parameter_end, call_end;
};

constexpr TagMarks kParameterTags = {.name_begin = "<function=",
                                     .parameter_begin = "<parameter=",
                                     .name_end = ">",
                                     .parameter_end = "</parameter>",
                                     .call_end = "</function>"};
constexpr TagMarks kXmlTags = {.name_begin = "name=\"",  // after the mark "<function"
                               .parameter_begin = "<param name=\"",
                               .name_end = "\">",
                               .parameter_end = "</param>",
                               .call_end = "</function>"};

constexpr std::string_view kCdataBegin = "<![CDATA[";
constexpr std::string_view kCdataEnd = "]]>";

// Reads the text before `end` into `out`, and skips `end`.
Reading read_until(LiteralReader& reader, std::string_view end, std::string& out) {
  const size_t at = reader.rest.find(end);
  if (at == std::string_view::npos) return Reading::open;
  out = reader.rest.substr(0, at);
  reader.rest.remove_prefix(at + end.size());
  return Reading::whole;
}

// Reads a string that has neither quotes nor escapes, and drops the line breaks next to its marks.
Reading read_text(LiteralReader& reader, std::string_view end, std::string& arguments) {
  std::string_view& rest = reader.rest;
  if (rest.starts_with('\n')) rest.remove_prefix(1);
  arguments += '"';
  if (const size_t at = rest.find(end); at != std::string_view::npos) {
    const std::string_view text = rest.substr(0, at);
    append_json_escaped(arguments, text.substr(0, text.size() - (text.ends_with('\n') ? 1 : 0)));
    arguments += '"';
    rest.remove_prefix(at + end.size());
    return Reading::whole;
  }
  std::string_view certain = rest.substr(0, rest.size() - unfinished_mark(rest, end));
  if (certain.ends_with('\n')) certain.remove_suffix(1);
  append_json_escaped(arguments, certain);
  return Reading::open;
}

// Reads a value of one of the types.
Reading read_typed(LiteralReader& reader, std::string_view end, uint8_t types,
                   std::string& arguments) {
  const LiteralReader begin = reader;
  std::string text;
  if (const Reading read = read_until(reader, end, text); read != Reading::whole) return read;
  std::string value;
  const bool is_value = read_whole_value(text, value);
  if (is_value && ((type_of_json(value) & types) != 0 || (types & kStringType) == 0)) {
    arguments += value;
  } else if (types == kAnyType || (types & kStringType) == 0) {
    arguments += '"';
    append_json_escaped(arguments, without_trailing_space(without_leading_space(text)));
    arguments += '"';
  } else {
    reader = begin;
    return read_text(reader, end, arguments);
  }
  return Reading::whole;
}

Reading read_parameter(LiteralReader& reader, const TagMarks& marks, uint8_t types,
                       std::string& arguments) {
  const std::string_view value_begin = reader.rest;
  Reading read = reader.skip(kCdataBegin);
  if (read == Reading::open) return read;
  const bool is_cdata = read == Reading::whole;
  if (!is_cdata) reader.rest = value_begin;  // keeps the white space that a string may begin with
  const std::string_view end = is_cdata ? kCdataEnd : marks.parameter_end;
  read = types == kStringType || is_cdata ? read_text(reader, end, arguments)
                                          : read_typed(reader, end, types, arguments);
  return read == Reading::whole && is_cdata ? reader.skip(marks.parameter_end) : read;
}

uint8_t types_of(const KnownTool* tool, std::string_view name) {
  if (tool == nullptr) return kAnyType;
  const auto& texts = tool->text_parameters;
  if (std::find(texts.begin(), texts.end(), name) != texts.end()) return kStringType;
  for (const MixedParameter& mixed : tool->mixed_parameters) {
    if (mixed.name == name) return mixed.types;
  }
  return kAnyType;
}

Reading read_parameters(LiteralReader& reader, const TagMarks& marks, const KnownTool* tool,
                        std::string& arguments) {
  arguments = "{";
  for (bool is_first = true;; is_first = false) {
    Reading read = reader.skip(marks.call_end);
    if (read == Reading::whole) arguments += '}';
    if (read != Reading::broken) return read;
    read = reader.skip(marks.parameter_begin);
    std::string name;
    if (read == Reading::whole) read = read_until(reader, marks.name_end, name);
    if (read != Reading::whole) return read;
    if (!is_first) arguments += ',';
    arguments += '"';
    append_json_escaped(arguments, name);
    arguments += "\":";
    read = read_parameter(reader, marks, types_of(tool, name), arguments);
    if (read != Reading::whole) return read;
  }
}

CallPrefix read_tagged(std::string_view text, const TagMarks& marks,
                       const std::vector<KnownTool>& tools) {
  CallPrefix call;
  LiteralReader reader{text, {}};
  Reading read = reader.skip(marks.name_begin);
  if (read == Reading::whole) read = read_until(reader, marks.name_end, call.name);
  if (read == Reading::whole) {
    read = read_parameters(reader, marks, find_tool(tools, call.name), call.arguments);
  }
  return finished(std::move(call), read, text, reader);
}

}  // namespace

uint8_t type_of_json(std::string_view json) {
  switch (json.empty() ? '\0' : json[0]) {
    case '"':
      return kStringType;
    case '[':
      return kArrayType;
    case '{':
      return kObjectType;
    case 't':
    case 'f':
      return kBooleanType;
    case 'n':
      return kNullType;
    default:
      return json.find_first_of(".eE") == json.npos ? kIntegerType : kNumberType;
  }
}

const KnownTool* find_tool(const std::vector<KnownTool>& tools, std::string_view name) {
  for (const KnownTool& tool : tools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

CallPrefix read_call(CallSyntax syntax, std::string_view text, std::string_view quote,
                     const std::vector<KnownTool>& tools) {
  if (without_leading_space(text).starts_with('{') && syntax != CallSyntax::keyed_json) {
    return read_json(text, quote);
  }
  switch (syntax) {
    case CallSyntax::keyed_json:
      return read_keyed_json(text, quote);
    case CallSyntax::json:
      return read_json(text, quote);
    case CallSyntax::named_json:
      return read_named_json(text, quote);
    case CallSyntax::python:
      return read_python(text, quote);
    case CallSyntax::named_object:
      return read_named_object(text, quote);
    case CallSyntax::parameters:
      return read_tagged(text, kParameterTags, tools);
    case CallSyntax::xml:
      return read_tagged(text, kXmlTags, tools);
  }
  return {};
}

}  // namespace kinglet
