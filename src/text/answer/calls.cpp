#include "text/answer/calls.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "json/escape.h"
#include "json/json.h"
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

bool begins_string(std::string_view text) {
  return text.starts_with('"') || text.starts_with('\'');
}

// Reads arguments in JSON. Some models write this JSON as a string.
Reading read_arguments(LiteralReader& reader, CallPrefix& call) {
  reader.skip_space();
  Reading read = Reading::open;
  if (begins_string(reader.rest)) {
    std::string text;
    read = reader.plain_string(text);
    std::string object;
    const bool is_converted = !is_json_object(text) &&
                              read_whole_value(text, Dialect::json, object) &&
                              object.starts_with('{');
    call.arguments = is_converted ? object : text;
  } else {
    read = reader.value(call.arguments);
  }
  call.has_whole_arguments = read == Reading::whole;
  return read;
}

// Reads the members of a call's object, or of the object under its key "function".
Reading read_members(LiteralReader& reader, CallPrefix& call, bool& has_others, bool is_inner) {
  constexpr std::string_view kOfCalls[] = {"type", "id", "tool_call_id", "index"};
  if (const Reading read = reader.skip("{"); read != Reading::whole) return read;
  for (bool is_first = true;; is_first = false) {
    reader.skip_space();
    if (reader.rest.starts_with('}')) {
      reader.rest.remove_prefix(1);
      // Without arguments, other members make it an object that only has a tool's name.
      const bool is_call = !call.name.empty() && (call.has_whole_arguments || !has_others);
      return is_inner || is_call ? Reading::whole : Reading::broken;
    }
    if (!is_first) {
      if (const Reading read = reader.skip(","); read != Reading::whole) return read;
    }
    std::string key;
    Reading read = reader.plain_string(key);
    if (read == Reading::whole) read = reader.skip(":");
    if (read != Reading::whole) return read;
    reader.skip_space();
    const bool is_string = begins_string(reader.rest);
    const bool is_name = key == "name" || key == "tool_name";
    if (is_name && call.name.empty()) {
      read = reader.plain_string(call.name);
    } else if (key == "function" && !is_inner && !is_string) {
      read = read_members(reader, call, has_others, true);
    } else if ((key == "arguments" || key == "parameters") && !call.has_whole_arguments) {
      read = read_arguments(reader, call);
    } else if (key == "function" && call.name.empty() && is_string) {
      read = reader.plain_string(call.name);
    } else {
      has_others = has_others || !is_among(key, kOfCalls);
      std::string ignored;
      read = reader.value(ignored);
    }
    if (read != Reading::whole) return read;
  }
}

CallPrefix read_json(std::string_view text, std::string_view quote) {
  CallPrefix call;
  LiteralReader reader{text, quote};
  bool has_others = false;
  const Reading read = read_members(reader, call, has_others, false);
  if (read == Reading::whole && !call.has_whole_arguments) call.arguments = "{}";
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
    const size_t begin = reader.rest.find_first_of("{\"");
    if (reader.rest.substr(0, begin).find('\n', 1) != std::string_view::npos) {
      read = Reading::broken;
    } else if (begin == std::string_view::npos) {
      read = Reading::open;
    } else {
      reader.rest.remove_prefix(begin);
      read = read_arguments(reader, call);
    }
  }
  return finished(std::move(call), read, text, reader);
}

CallPrefix read_named_line(std::string_view text, std::string_view quote) {
  CallPrefix call;
  LiteralReader reader{text, quote};
  Reading read = read_plain_name(reader, call.name);
  if (read == Reading::whole) {
    reader.skip_space();
    read = reader.rest.empty()            ? Reading::open
           : reader.rest.starts_with('{') ? read_arguments(reader, call)
                                          : Reading::broken;
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
  LiteralReader reader{text, quote, Dialect::python};
  Reading read = read_plain_name(reader, call.name);
  if (read == Reading::whole) read = reader.skip("(");
  if (read == Reading::whole) read = read_keywords(reader, call.arguments);
  return finished(std::move(call), read, text, reader);
}

// The marks of a call whose arguments each have their own marks.
struct TagMarks {
  std::string_view name_begin, name_end;
  std::string_view parameter_begin, parameter_name_end;
  std::string_view value_begin;  // after the parameter's name; may be empty
  std::string_view parameter_end;
  std::string_view call_end;
  std::string_view calls_end;  // of all calls; may be empty
  bool has_lines = false;      // values stand on lines of their own, whose breaks are not theirs
  bool is_xml = false;
};

constexpr TagMarks kParameterTags = {.name_begin = "<function=",
                                     .name_end = ">",
                                     .parameter_begin = "<parameter=",
                                     .parameter_name_end = ">",
                                     .value_begin = {},
                                     .parameter_end = "</parameter>",
                                     .call_end = "</function>",
                                     .calls_end = "</tool_call>",
                                     .has_lines = true};
constexpr TagMarks kInlineParameterTags = [] {
  TagMarks marks = kParameterTags;
  marks.calls_end = "</seed:tool_call>";
  marks.has_lines = false;
  return marks;
}();
constexpr TagMarks kPairTags = {.name_begin = {},
                                .name_end = {},
                                .parameter_begin = "<arg_key>",
                                .parameter_name_end = "</arg_key>",
                                .value_begin = "<arg_value>",
                                .parameter_end = "</arg_value>",
                                .call_end = "</tool_call>",
                                .calls_end = "</tool_calls>"};
constexpr TagMarks kXmlTags = {.name_begin = {},  // after the mark "<function"
                               .name_end = {},
                               .parameter_begin = "<param",
                               .parameter_name_end = {},
                               .value_begin = {},
                               .parameter_end = "</param",
                               .call_end = "</function",
                               .calls_end = {},
                               .is_xml = true};

// Reads the text before `end` into `out`, and skips `end`.
Reading read_until(LiteralReader& reader, std::string_view end, std::string& out) {
  const size_t at = reader.rest.find(end);
  if (at == std::string_view::npos) return Reading::open;
  out = reader.rest.substr(0, at);
  reader.rest.remove_prefix(at + end.size());
  return Reading::whole;
}

// Whether one of the marks follows `text`, or may follow.
Reading begins_with_one_of(std::string_view text, std::initializer_list<std::string_view> marks) {
  text = without_leading_space(text);
  Reading read = Reading::broken;
  for (const std::string_view mark : marks) {
    if (mark.empty()) continue;
    if (text.starts_with(mark)) return Reading::whole;
    if (mark.starts_with(text)) read = Reading::open;
  }
  return read;
}

// Reads the text of a value up to the end mark, or what is certain of it. A text may contain the
// end mark: it ends where another parameter or the end of the call follows.
Reading read_tagged_text(LiteralReader& reader, const TagMarks& marks, std::string& text) {
  std::string_view& rest = reader.rest;
  if (marks.has_lines && rest.starts_with('\n')) rest.remove_prefix(1);
  Reading read = Reading::broken;
  size_t at = 0;
  size_t n_certain = 0;
  for (; read == Reading::broken; ++at) {
    at = rest.find(marks.parameter_end, at);
    if (at == std::string_view::npos) {
      n_certain = rest.size() - unfinished_mark(rest, marks.parameter_end);
      read = Reading::open;
      break;
    }
    n_certain = at;
    read = begins_with_one_of(rest.substr(at + marks.parameter_end.size()),
                              {marks.parameter_begin, marks.call_end, marks.calls_end});
  }
  text = rest.substr(0, n_certain);
  if (marks.has_lines && text.ends_with('\n')) text.pop_back();
  if (read == Reading::whole) rest.remove_prefix(n_certain + marks.parameter_end.size());
  return read;
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

// Reads the character that `text` refers to at its beginning, such as &lt; or &#x41;. Any other
// ampersand is a character.
Reading read_reference(std::string_view text, std::string& out, size_t& n_bytes) {
  constexpr std::pair<std::string_view, char> kNames[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
  constexpr size_t kMostDigits = 8;
  Reading read = Reading::broken;
  for (const auto& [name, character] : kNames) {
    if (text.starts_with(name)) {
      out += character;
      n_bytes = name.size();
      return Reading::whole;
    }
    if (name.starts_with(text)) read = Reading::open;
  }
  const bool is_number = text.size() > 1 && text[1] == '#';
  if (is_number) {
    const size_t begin = text.size() > 2 && text[2] == 'x' ? 3 : 2;
    size_t end = begin;
    uint64_t code = 0;
    for (; end < text.size() && end - begin < kMostDigits; ++end) {
      const auto digit = hex_digit(text[end]);
      if (!digit || (begin == 2 && *digit > 9)) break;
      code = code * (begin == 3 ? 16 : 10) + *digit;
    }
    const bool is_character = code > 0 && code <= 0x10ffff && (code < 0xd800 || code >= 0xe000);
    if (end == text.size() && end - begin < kMostDigits) return Reading::open;
    if (end > begin && end < text.size() && text[end] == ';' && is_character) {
      append_utf8(out, static_cast<char32_t>(code));
      n_bytes = end + 1;
      return Reading::whole;
    }
  }
  if (read == Reading::open) return read;
  out += '&';
  n_bytes = 1;
  return Reading::whole;
}

// Reads XML's attributes up to the end of the tag. One of them must be the name. `is_empty`: the
// element ends with its tag.
Reading read_xml_name(LiteralReader& reader, std::string& name, bool& is_empty) {
  std::string_view& rest = reader.rest;
  bool has_name = false;
  for (bool is_first = true;; is_first = false) {
    const size_t n_before = rest.size();
    reader.skip_space();
    if (rest.empty()) return Reading::open;
    is_empty = rest[0] == '/';
    if (is_empty || rest[0] == '>') {
      const Reading read = reader.skip(is_empty ? "/>" : ">");
      return read == Reading::whole && !has_name ? Reading::broken : read;
    }
    if (!is_first && rest.size() == n_before) return Reading::broken;
    std::string attribute;
    if (const Reading read = read_plain_name(reader, attribute); read != Reading::whole) {
      return read;
    }
    if (const Reading read = reader.skip("="); read != Reading::whole) return read;
    reader.skip_space();
    if (rest.empty()) return Reading::open;
    if (!begins_string(rest)) return Reading::broken;
    const std::string mark(1, rest[0]);
    rest.remove_prefix(1);
    std::string spelled;
    if (const Reading read = read_until(reader, mark, spelled); read != Reading::whole) return read;
    if (attribute != "name") continue;
    has_name = true;
    name.clear();
    spelled += '"';  // ends a reference
    for (std::string_view left = spelled; left.size() > 1;) {
      size_t n = 1;
      if (left[0] == '&') {
        read_reference(left, name, n);
      } else {
        name += left[0];
      }
      left.remove_prefix(n);
    }
  }
}

// Reads what XML has up to the end tag that begins with `end`, or what is certain of it. Space
// around CDATA sections alone is not part of the text.
Reading read_xml_text(LiteralReader& reader, std::string_view end, std::string& text,
                      bool& is_cdata) {
  constexpr std::string_view kCdataBegin = "<![CDATA[";
  constexpr std::string_view kCdataEnd = "]]>";
  std::string_view& rest = reader.rest;
  bool follows_cdata = false;
  for (bool is_begin = true;; is_begin = false) {
    const std::string_view next = without_leading_space(rest);
    const std::string_view space = rest.substr(0, rest.size() - next.size());
    if (next.starts_with(kCdataBegin)) {
      if (!is_begin) text += space;
      is_cdata = true;
      follows_cdata = true;
      rest = next.substr(kCdataBegin.size());
      const size_t n = rest.find(kCdataEnd);
      if (n == std::string_view::npos) {
        text += rest.substr(0, rest.size() - unfinished_mark(rest, kCdataEnd));
        return Reading::open;
      }
      text += rest.substr(0, n);
      rest.remove_prefix(n + kCdataEnd.size());
      continue;
    }
    if (next.starts_with(end)) {
      const std::string_view after = without_leading_space(next.substr(end.size()));
      if (after.empty()) return Reading::open;
      if (after[0] == '>') {
        if (!follows_cdata) text += space;
        rest = after.substr(1);
        return Reading::whole;
      }
    }
    if (kCdataBegin.starts_with(next) || end.starts_with(next)) return Reading::open;
    text += space;
    follows_cdata = false;
    size_t n = std::min(next.find_first_of("<& \n\t\r", 1), next.size());
    if (next[0] == '&') {
      std::string character;
      if (read_reference(next, character, n) == Reading::open) return Reading::open;
      text += character;
    } else {
      text += next.substr(0, n);
    }
    rest = next.substr(n);
  }
}

// Reads a value of one of the types.
Reading read_value(LiteralReader& reader, const TagMarks& marks, uint8_t types,
                   std::string& arguments) {
  std::string text;
  bool is_cdata = false;
  const Reading read = marks.is_xml ? read_xml_text(reader, marks.parameter_end, text, is_cdata)
                                    : read_tagged_text(reader, marks, text);
  const bool is_text = types == kStringType || (types == kAnyType && is_cdata);
  if (is_text ? read == Reading::broken : read != Reading::whole) return read;
  const Dialect dialect = marks.is_xml ? Dialect::python : Dialect::json;
  std::string value;
  const bool is_value = !is_text && read_whole_value(text, dialect, value) &&
                        ((type_of_json(value) & types) != 0 || (types & kStringType) == 0);
  if (is_value) {
    arguments += value;
    return read;
  }
  arguments += '"';
  append_json_escaped(arguments, text);
  if (read == Reading::whole) arguments += '"';
  return read;
}

// Reads the beginning of a parameter, and its name. `is_empty`: it has no value, as in XML.
Reading read_parameter_name(LiteralReader& reader, const TagMarks& marks, std::string& name,
                            bool& is_empty) {
  if (const Reading read = reader.skip(marks.parameter_begin); read != Reading::whole) return read;
  if (marks.is_xml) return read_xml_name(reader, name, is_empty);
  const Reading read = read_until(reader, marks.parameter_name_end, name);
  if (read == Reading::whole) name = without_trailing_space(without_leading_space(name));
  return read == Reading::whole && !marks.value_begin.empty() ? reader.skip(marks.value_begin)
                                                              : read;
}

Reading read_parameters(LiteralReader& reader, const TagMarks& marks, const KnownTool* tool,
                        std::string& arguments) {
  arguments = "{";
  for (bool is_first = true;; is_first = false) {
    Reading read = reader.skip(marks.call_end);
    if (read == Reading::whole && marks.is_xml) read = reader.skip(">");
    if (read == Reading::whole) arguments += '}';
    if (read != Reading::broken) return read;
    std::string name;
    bool is_empty = false;
    read = read_parameter_name(reader, marks, name, is_empty);
    if (read != Reading::whole) return read;
    if (!is_first) arguments += ',';
    arguments += '"';
    append_json_escaped(arguments, name);
    arguments += "\":";
    if (is_empty) {
      arguments += "\"\"";
      continue;
    }
    read = read_value(reader, marks, types_of(tool, name), arguments);
    if (read != Reading::whole) return read;
  }
}

CallPrefix read_tagged(std::string_view text, const TagMarks& marks,
                       const std::vector<KnownTool>& tools) {
  CallPrefix call;
  LiteralReader reader{text, {}};
  bool is_empty = false;
  Reading read = Reading::open;
  if (marks.is_xml) {
    read = read_xml_name(reader, call.name, is_empty);
  } else {
    read = reader.skip(marks.name_begin);
    if (read == Reading::whole) read = read_until(reader, marks.name_end, call.name);
  }
  if (is_empty) {
    call.arguments = "{}";
  } else if (read == Reading::whole) {
    read = read_parameters(reader, marks, find_tool(tools, call.name), call.arguments);
  }
  return finished(std::move(call), read, text, reader);
}

// Skips a mark that may be there.
Reading skip_optional(LiteralReader& reader, std::string_view mark) {
  const std::string_view begin = reader.rest;
  const Reading read = reader.skip(mark);
  if (read != Reading::broken) return read;
  reader.rest = begin;
  return Reading::whole;
}

// Reads a name, and behind it pairs of names and values, or an object that may be in a fence.
// `has_own_marks`: there are marks around each call, and others around all of them.
CallPrefix read_block(std::string_view text, std::string_view quote, bool has_own_marks,
                      const std::vector<KnownTool>& tools) {
  constexpr std::string_view kFence = "```";
  CallPrefix call;
  LiteralReader reader{text, quote};
  Reading read = has_own_marks ? skip_optional(reader, "<tool_call>") : Reading::whole;
  reader.skip_space();
  if (read == Reading::whole && reader.rest.starts_with('{')) {
    call = read_json(reader.rest, quote);
    reader.rest.remove_prefix(call.n_bytes);
    read = call.reading;
  } else {
    if (read == Reading::whole) read = read_plain_name(reader, call.name);
    const size_t n_name = reader.rest.size();
    if (read == Reading::whole) read = skip_optional(reader, "<tool_sep>");
    const bool is_type = call.name == "function" && reader.rest.size() < n_name;
    if (read == Reading::whole && is_type && !reader.rest.starts_with('\n')) {
      read = read_plain_name(reader, call.name);
    }
    if (read == Reading::whole) read = skip_optional(reader, kFence);
    if (read == Reading::whole) read = skip_optional(reader, "json");
    reader.skip_space();
    if (read == Reading::whole && reader.rest.starts_with('{')) {
      read = read_arguments(reader, call);
      if (read == Reading::whole) read = skip_optional(reader, kFence);
    } else if (read == Reading::whole) {
      read = begins_with_one_of(reader.rest, {kPairTags.parameter_begin, kPairTags.call_end});
      if (read == Reading::whole) {
        read = read_parameters(reader, kPairTags, find_tool(tools, call.name), call.arguments);
      }
      const size_t n_end = has_own_marks ? 0 : kPairTags.call_end.size();
      if (read == Reading::whole) {
        call = finished(std::move(call), read, text, reader);
        call.n_bytes -= n_end;
        return call;
      }
    }
  }
  if (read == Reading::whole && has_own_marks) read = skip_optional(reader, kPairTags.call_end);
  return finished(std::move(call), read, text, reader);
}

}  // namespace

bool is_json_object(std::string_view text) {
  const auto parsed = parse_json(text);
  return parsed.ok() && parsed.value().is_object();
}

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
  const bool reads_objects = syntax == CallSyntax::keyed_json || syntax == CallSyntax::blocks;
  if (without_leading_space(text).starts_with('{') && !reads_objects) {
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
    case CallSyntax::inline_parameters:
      return read_tagged(text, kInlineParameterTags, tools);
    case CallSyntax::pairs:
      return read_block(text, quote, false, tools);
    case CallSyntax::blocks:
      return read_block(text, quote, true, tools);
    case CallSyntax::named_line:
      return read_named_line(text, quote);
    case CallSyntax::xml:
      return read_tagged(text, kXmlTags, tools);
  }
  return {};
}

}  // namespace kinglet
