// Sources: MarkupSafe's documentation of Markup.striptags(), the HTML standard ("Named character
// references", "Numeric character reference end state") and Python's html.unescape().
#include "text/jinja/strip_tags.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/utf8.h"
#include "text/jinja/arguments.h"
#include "text/jinja/strings.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

// The names of the characters from U+00A0 to U+00FF. Like those of the next table, they need no
// semicolon.
constexpr std::string_view kLatinNames =
    "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn "
    "sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave "
    "Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml "
    "ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN "
    "szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave "
    "iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute "
    "ucirc uuml yacute thorn yuml ";
constexpr std::pair<std::string_view, char32_t> kOtherNames[] = {
    {"amp", '&'}, {"lt", '<'}, {"gt", '>'},   {"quot", '"'},  {"AMP", '&'},
    {"LT", '<'},  {"GT", '>'}, {"QUOT", '"'}, {"COPY", 0xa9}, {"REG", 0xae}};
// Those with a semicolon that are common in texts.
constexpr std::pair<std::string_view, char32_t> kNamesWithEnd[] = {
    {"apos", '\''},    {"ndash", 0x2013}, {"mdash", 0x2014}, {"lsquo", 0x2018},  {"rsquo", 0x2019},
    {"ldquo", 0x201c}, {"rdquo", 0x201d}, {"bull", 0x2022},  {"hellip", 0x2026}, {"euro", 0x20ac},
    {"trade", 0x2122}, {"larr", 0x2190},  {"rarr", 0x2192}};

template <class Names>
std::optional<char32_t> find_name(const Names& names, std::string_view name) {
  const auto* found = std::find_if(std::begin(names), std::end(names),
                                   [&](const auto& row) { return row.first == name; });
  if (found == std::end(names)) return std::nullopt;
  return found->second;
}

// Returns the character of a name that needs no semicolon.
std::optional<char32_t> short_name(std::string_view name) {
  if (const auto found = find_name(kOtherNames, name)) return found;
  constexpr char32_t kFirst = 0xa0;
  char32_t code = kFirst;
  for (std::string_view rest = kLatinNames; !rest.empty(); ++code) {
    const size_t end = rest.find(' ');
    if (rest.substr(0, end) == name) return code;
    rest.remove_prefix(end + 1);
  }
  return std::nullopt;
}

// A reference at the beginning of a text: how long it is, and what it stands for.
struct CharacterReference {
  size_t size = 0;
  std::string meaning = {};
};

// Reads "&#…": no reference if there are no digits.
Result<CharacterReference> read_number_reference(std::string_view bytes) {
  const bool is_hex = bytes.size() > 2 && to_lower(bytes[2]) == 'x';
  const size_t begin = is_hex ? 3 : 2;
  size_t end = begin;
  char32_t code = 0;
  for (; end < bytes.size(); ++end) {
    const auto digit = hex_digit(bytes[end]);
    if (!digit || (!is_hex && *digit > 9)) break;
    code = std::min<char32_t>(code * (is_hex ? 16 : 10) + *digit, 0x110000);
  }
  if (end == begin) return CharacterReference{};
  CharacterReference reference{.size = end + (end < bytes.size() && bytes[end] == ';' ? 1 : 0)};
  if (code >= 0x80 && code < 0xa0) {
    return refusal("striptags: references to U+0080 to U+009F are not supported");
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_control =
      (code < 0x20 && code != '\t' && code != '\n' && code != '\r' && code != '\f') || code == 0x7f;
  const bool is_no_character = (code >= 0xfdd0 && code < 0xfdf0) || (code & 0xfffe) == 0xfffe;
  if (code == 0 || is_surrogate || code >= 0x110000) {
    append_utf8(reference.meaning, 0xfffd);
  } else if (!is_control && !is_no_character) {
    append_utf8(reference.meaning, code);
  }
  return reference;
}

Result<CharacterReference> read_reference(std::string_view bytes) {
  if (bytes.size() > 1 && bytes[1] == '#') return read_number_reference(bytes);
  constexpr size_t kLongest = 32;
  const std::string_view rest = bytes.substr(1, kLongest);
  const std::string_view name = rest.substr(0, rest.find_first_of("\t\n\f <&#;"));
  const bool has_end = name.size() + 1 < bytes.size() && bytes[name.size() + 1] == ';';
  CharacterReference reference;
  Work::spend(16 * kOfItem);
  constexpr size_t kLongestShort = 6;  // names that need no semicolon
  for (size_t n = name.size(); n >= 2; n = std::min(n - 1, kLongestShort)) {
    auto code = short_name(name.substr(0, n));
    const bool is_whole = n == name.size();
    if (!code && is_whole && has_end) code = find_name(kNamesWithEnd, name);
    if (!code) continue;
    append_utf8(reference.meaning, *code);
    reference.size = 1 + n + (is_whole && has_end ? 1 : 0);
    if (is_whole || !has_end) return reference;
    break;
  }
  const bool may_be_name =
      has_end && !name.empty() &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
  if (may_be_name)
    return refusal(
        cat("striptags: ", in_quotes(bytes.substr(0, name.size() + 2)), " is not supported"));
  return reference;
}

// Bytes, and for each whether a message says it.
struct MarkedBytes {
  std::string bytes;
  std::string said;

  void append(const Text& text, size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) {
      bytes += text.bytes()[at];
      said += text.is_said(at) ? '1' : '0';
    }
  }
};

constexpr std::string_view kCommentBegin = "<!--";
constexpr std::string_view kCommentEnd = "-->";

// Removes comments: also those that begin where another one was.
MarkedBytes without_comments(const Text& text) {
  MarkedBytes out;
  const std::string_view bytes = text.bytes();
  for (size_t at = 0; at < bytes.size();) {
    out.append(text, at, at + 1);
    ++at;
    if (!out.bytes.ends_with(kCommentBegin)) continue;
    // The hyphens of the beginning may belong to the end, too: "<!-->".
    size_t end = std::string_view::npos;
    for (const size_t n_shared : {2u, 1u}) {
      const std::string_view left = kCommentEnd.substr(n_shared);
      if (end == std::string_view::npos && bytes.substr(at).starts_with(left))
        end = at + left.size();
    }
    if (end == std::string_view::npos) {
      const size_t found = bytes.find(kCommentEnd, at);
      if (found == std::string_view::npos) {
        out.append(text, at, bytes.size());
        return out;
      }
      end = found + kCommentEnd.size();
    }
    out.bytes.resize(out.bytes.size() - kCommentBegin.size());
    out.said.resize(out.bytes.size());
    at = end;
  }
  return out;
}

// Returns the text without tags.
Text without_tags(const MarkedBytes& marked) {
  Text out;
  const std::string_view bytes = marked.bytes;
  const auto append = [&](size_t begin, size_t end) {
    while (begin < end) {
      const size_t change = marked.said.find(marked.said[begin] == '1' ? '0' : '1', begin);
      const size_t stop = std::min(change, end);
      out.append(bytes.substr(begin, stop - begin), marked.said[begin] == '1');
      begin = stop;
    }
  };
  size_t at = 0;
  for (size_t begin = bytes.find('<'); begin != bytes.npos; begin = bytes.find('<', at)) {
    const size_t end = bytes.find('>', begin);
    if (end == bytes.npos) break;
    append(at, begin);
    at = end + 1;
  }
  append(at, bytes.size());
  return out;
}

}  // namespace

Result<Value> striptags_filter(Arguments& arguments) {
  KINGLET_TRY(ArgumentReader("striptags", arguments).check_end());
  const Text plain = without_tags(without_comments(characters_of(filtered(arguments))));
  const Text spaced = join(split(plain, nullptr, -1), Text(" "));
  const std::string_view bytes = spaced.bytes();
  Text out;
  size_t at = 0;
  for (size_t mark = bytes.find('&'); mark != bytes.npos; mark = bytes.find('&', mark)) {
    KINGLET_ASSIGN(const CharacterReference reference, read_reference(bytes.substr(mark)));
    if (reference.size > 0) {
      out.append(spaced.cut(at, mark));
      out.append(reference.meaning, spaced.is_said(mark));
      at = mark + reference.size;
    }
    mark += std::max<size_t>(reference.size, 1);
  }
  out.append(spaced.cut(at, spaced.size()));
  return Value::text(std::move(out));
}

}  // namespace kinglet::jinja
