// How the families of models write calls of tools, piece by piece: what grammars of calls are made
// of. What is read of calls, which is more, is in calls.h.
#pragma once

#include <string_view>

namespace kinglet {

// Pieces of plain text. An answer of two calls is
//
//   begin NAME name_end ARGUMENTS between NAME name_end ARGUMENTS end
//
// and arguments of two parameters, where they are not an object as any other,
//
//   arguments_begin argument_begin KEY key_end VALUE value_end
//   argument_separator argument_begin KEY key_end VALUE value_end arguments_end
struct CallNotation {
  std::string_view begin = {};
  std::string_view id_mark = {};  // after the name, in front of an id of nine letters and digits
  std::string_view name_end = {};
  std::string_view id_member = {};  // after the arguments, in front of such an id and a quotation
                                    // mark; both may be left out
  std::string_view between = {};    // empty: there is only one call
  std::string_view end = {};

  std::string_view arguments_begin = {};
  std::string_view argument_begin = {};
  std::string_view key_end = {};  // empty: arguments are an object as any other
  std::string_view value_end = {};
  std::string_view argument_separator = {};
  std::string_view arguments_end = {};
  // Not in arguments that are strings, which stand between these pieces as they are, without
  // quotes; empty: they have quotes as any other.
  std::string_view text_end = {};
  // Around such strings too, which may then have `text_end` in them, but not cdata_end.
  std::string_view cdata_begin = {};
  std::string_view cdata_end = {};

  // Objects and lists: as Python writes JSON, and with it Jinja's tojson.
  std::string_view separator = ", ";
  std::string_view colon = ": ";
  std::string_view quotes = "\"";  // each of these may stand on both sides of a string
  std::string_view text_quote =
      {};                         // around strings that hold any text but this; empty: `quotes` do
  bool has_plain_names = false;   // of tools: letters, digits and the like, without quotes
  bool has_plain_keys = false;    // of objects, likewise
  bool sorts_keys = false;        // as Jinja's dictsort does, whatever the schema's order is
  bool has_python_words = false;  // True, False and None beside true, false and null
};

// What names without quotes are made of.
constexpr bool is_plain(char c) {
  constexpr std::string_view kOthers = "\"'`<>=:,(){}[]|\\\x7f";
  return static_cast<unsigned char>(c) > ' ' && kOthers.find(c) == kOthers.npos;
}

extern const CallNotation kHermesNotation;
extern const CallNotation kLlamaNotation;
extern const CallNotation kJsonNotation;
extern const CallNotation kMistralNotation;
extern const CallNotation kSpacedMistralNotation;
extern const CallNotation kNamedMistralNotation;
extern const CallNotation kNumberedMistralNotation;
extern const CallNotation kGranite3Notation;
extern const CallNotation kLfm2Notation;
extern const CallNotation kGemma4Notation;
extern const CallNotation kFunctionGemmaNotation;
extern const CallNotation kQwen35Notation;
extern const CallNotation kMiniCpm5Notation;

}  // namespace kinglet
