// How the families of models write calls of tools, as pieces from which grammars of calls are made.
// Reading calls (calls.h) accepts more than these notations.
#pragma once

#include <string_view>

namespace kinglet {

// Pieces of plain text. An answer of two calls is
//
//   begin NAME name_end ARGUMENTS between NAME name_end ARGUMENTS end
//
// and arguments with two parameters, unless they are an ordinary object, are
//
//   arguments_begin argument_begin KEY key_end VALUE value_end
//   argument_separator argument_begin KEY key_end VALUE value_end arguments_end
struct CallNotation {
  std::string_view begin = {};
  std::string_view id_mark = {};  // after the name, in front of an id of nine letters and digits
  std::string_view name_end = {};
  std::string_view id_member = {};  // after the arguments, in front of such an id and a closing
                                    // quotation mark; the member with its id may be left out
  std::string_view between = {};    // empty: there is only one call
  std::string_view end = {};

  std::string_view arguments_begin = {};
  std::string_view argument_begin = {};
  std::string_view key_end = {};  // empty: arguments are an ordinary object
  std::string_view value_end = {};
  std::string_view argument_separator = {};
  std::string_view arguments_end = {};
  // Arguments that are strings stand between these pieces as they are, without quotes, and must not
  // contain `text_end`. Empty: such strings have quotes like other strings.
  std::string_view text_end = {};
  std::string_view text_mark = {};  // what they must not contain, either
  // Such strings may also stand between these two. Then they may contain all but `cdata_end`.
  std::string_view cdata_begin = {};
  std::string_view cdata_end = {};

  // Objects and lists. The defaults are those of JSON in Python, and of Jinja's tojson.
  std::string_view separator = ", ";
  std::string_view colon = ": ";
  std::string_view quotes = "\"";    // each of these characters may enclose a string
  std::string_view text_quote = {};  // encloses strings of any text without it; empty: use `quotes`
  bool has_plain_names = false;      // names of tools have no quotes (see is_plain)
  bool has_plain_keys = false;       // keys of objects have no quotes
  bool sorts_keys = false;           // sorted like Jinja's dictsort, whatever the schema's order is
  bool has_python_strings = false;   // in which \\/ is two characters
  bool has_python_words = false;     // True, False and None in addition to true, false and null
};

// Whether `c` may be part of a name without quotes.
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
extern const CallNotation kApertusNotation;
extern const CallNotation kCommandNotation;
extern const CallNotation kQwen35Notation;
extern const CallNotation kSeedNotation;
extern const CallNotation kMiniCpm5Notation;
extern const CallNotation kGlm4Notation;
extern const CallNotation kGlm45Notation;
extern const CallNotation kGlm47Notation;
extern const CallNotation kHunyuanNotation;
extern const CallNotation kHunyuanListNotation;
extern const CallNotation kHunyuan3Notation;
extern const CallNotation kOlmo3Notation;

}  // namespace kinglet
