#include "text/pretokenizer.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "base/utf8.h"
#include "text/unicode_table.h"

namespace kinglet {
namespace {

struct Character {
  char32_t code_point;
  uint16_t traits;
  uint8_t n_bytes;
};

// A matcher sees only one piece, as the earlier stages have cut it.
using Piece = std::span<const Character>;

bool has_trait(Piece piece, size_t at, uint16_t traits) {
  return at < piece.size() && (piece[at].traits & traits) != 0;
}

bool is(Piece piece, size_t at, char32_t code_point) {
  return at < piece.size() && piece[at].code_point == code_point;
}

bool is_newline(Piece piece, size_t at) { return is(piece, at, '\r') || is(piece, at, '\n'); }

// Returns the first place at or after `at` where `belongs` is false.
template <class F>
size_t skip_while(Piece piece, size_t at, F belongs) {
  while (at < piece.size() && belongs(piece[at])) ++at;
  return at;
}

size_t skip_traits(Piece piece, size_t at, uint16_t traits) {
  return skip_while(piece, at, [traits](Character c) { return (c.traits & traits) != 0; });
}

// ---- Runs: one class of characters, over and over

struct Run {
  uint16_t traits = 0;  // a character belongs to the run if it has one of these traits,
  std::span<const CodePointRange> ranges = {};  // or is in one of these
  size_t min = 1;
  size_t max = SIZE_MAX;
  bool takes_space = false;  // includes one space of any kind in front
  bool at_end = false;       // matches only at the end of the piece
};

bool belongs_to(const Run& run, Character c) {
  return (c.traits & run.traits) != 0 || is_in(run.ranges, c.code_point);
}

// Returns the end of the run that begins at `at`; `at` if no run begins there.
size_t match_run(const Run& run, Piece piece, size_t at) {
  const auto belongs = [&run](Character c) { return belongs_to(run, c); };
  // This run was tried where it begins, and it does not reach the end of the piece.
  if (run.at_end && at > 0 && belongs(piece[at - 1])) return at;
  const bool has_space = run.takes_space && has_trait(piece, at, trait::kSpace) &&
                         at + 1 < piece.size() && belongs(piece[at + 1]);
  const size_t begin = has_space ? at + 1 : at;
  const size_t most = std::min(run.max, piece.size() - begin);
  const size_t end = skip_while(piece.first(begin + most), begin, belongs);
  if (end - begin < run.min || (run.at_end && end != piece.size())) return at;
  return end;
}

// ---- Words: letters, numbers, spaces and all else, in the manner of GPT-2 and those after it

enum class Contractions : uint8_t {
  none,
  lower_case,  // 's 't 're 've 'm 'll 'd are words
  any_case,    // these are words in upper case, too
  ascii_case,  // the same, but the long s is not an s
  of_word,     // in any case, as a part of the word in front
};

enum class Letters : uint8_t {
  after_space,   //  ?\p{L}+
  after_any,     // [^\r\n\p{L}\p{N}]?\p{L}+
  with_marks,    // [^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+
  with_joiners,  // [^\r\n\p{L}\p{N}]?[\p{L}\p{M}\u200C\u200D]+
  after_sign,    // [!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
  by_case,       // like with_marks, but an upper-case letter after a lower-case one begins a word
};

// Characters other than letters, numbers and spaces, with one optional space in front.
enum class Others : uint8_t {
  all,        //  ?[^\s\p{L}\p{N}]+
  but_marks,  //  ?[^\s\p{L}\p{M}\p{N}]+
  signs,      //  ?[\p{P}\p{S}]+
};

enum class Newlines : uint8_t {
  spaces,  // newlines are like other spaces
  runs,    // spaces up to the last newline among them are a word: \s*[\r\n]+
  single,  // each newline is a word: [\r\n]
};

struct Run;

struct Words {
  Contractions contractions;
  Letters letters;
  size_t max_digits;       // 0: any number of digits, with an optional space in front
  std::string_view tails;  // characters that may follow `others`, any number of them
  Newlines newlines;
  Others others = Others::all;
  const Run* apart = nullptr;  // a run of letters that are never part of other words
};

// Returns the end of a contraction that begins at `at`; `at` if none begins there. With any_case
// and of_word, the long s counts as an s, as in the patterns of the models' own tokenizers.
size_t match_contraction(Contractions how, Piece piece, size_t at) {
  if (how == Contractions::none || !is(piece, at, '\'')) return at;
  const auto letter = [&](size_t i) -> char32_t {
    if (i >= piece.size()) return 0;
    const char32_t c = piece[i].code_point;
    if (how == Contractions::lower_case) return c;
    if (c == U'\u017f' && how != Contractions::ascii_case) return 's';
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  };
  const char32_t first = letter(at + 1);
  const char32_t second = letter(at + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  const bool is_pair =
      (second == 'e' && (first == 'r' || first == 'v')) || (second == 'l' && first == 'l');
  return is_pair ? at + 3 : at;
}

// Whether a character may be in the upper-case part of a word, or in the lower-case part after it.
bool is_capital(Character c) {
  return (c.traits & trait::kMark) != 0 ||
         ((c.traits & trait::kLetter) != 0 && (c.traits & trait::kLower) == 0);
}
bool is_small(Character c) {
  return (c.traits & trait::kMark) != 0 ||
         ((c.traits & trait::kLetter) != 0 && (c.traits & trait::kUpper) == 0);
}

// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+; returns `at` if it does not match.
size_t match_ending_small(Piece piece, size_t at) {
  const size_t capitals_end = skip_while(piece, at, is_capital);
  const size_t end = skip_while(piece, capitals_end, is_small);
  if (end > capitals_end) return end;
  // Characters without case belong to both parts: the last of these characters ends the word.
  size_t last = capitals_end;
  while (last > at && !is_small(piece[last - 1])) --last;
  return last;
}

// Tries words that end in lower case, then words in upper case; each with one character in front if
// possible, then without.
size_t match_by_case(Piece piece, size_t at, bool may_lead) {
  for (const auto match : {+[](Piece p, size_t i) { return match_ending_small(p, i); },
                           +[](Piece p, size_t i) { return skip_while(p, i, is_capital); }}) {
    if (may_lead && match(piece, at + 1) > at + 1) return match(piece, at + 1);
    if (match(piece, at) > at) return match(piece, at);
  }
  return at;
}

bool is_joiner(Character c) { return c.code_point == 0x200C || c.code_point == 0x200D; }

bool is_ascii_letter(Character c) {
  const char32_t lower = c.code_point | 0x20;
  return lower >= 'a' && lower <= 'z';
}

bool is_ascii_sign(Character c) {
  return c.code_point < 0x80 && (c.traits & (trait::kPunctuation | trait::kSymbol)) != 0;
}

// Whether the character may stand in front of letters.
bool may_lead(Letters letters, Piece piece, size_t at) {
  if (letters == Letters::after_space) return is(piece, at, ' ');
  const auto not_leading = static_cast<uint16_t>(
      letters == Letters::after_sign ? trait::kLetter | trait::kPunctuation | trait::kSymbol
                                     : trait::kLetter | trait::kNumber);
  return !is_newline(piece, at) && !has_trait(piece, at, not_leading);
}

// Matches a run of letters, with one character in front if that is allowed.
size_t match_letter_run(const Words& words, Piece piece, size_t at) {
  const bool has_joiners = words.letters == Letters::with_joiners;
  const bool has_marks =
      has_joiners || words.letters == Letters::with_marks || words.letters == Letters::after_sign;
  const auto traits =
      static_cast<uint16_t>(has_marks ? trait::kLetter | trait::kMark : trait::kLetter);
  const auto skip_letters = [&](size_t from) {
    if (words.apart == nullptr && !has_joiners) return skip_traits(piece, from, traits);
    return skip_while(piece, from, [&](Character c) {
      if (has_joiners && is_joiner(c)) return true;
      return (c.traits & traits) != 0 && (words.apart == nullptr || !belongs_to(*words.apart, c));
    });
  };
  const size_t begin = may_lead(words.letters, piece, at) ? at + 1 : at;
  const size_t end = skip_letters(begin);
  return end > begin ? end : skip_letters(at);
}

size_t match_letters(const Words& words, Piece piece, size_t at) {
  if (words.letters == Letters::after_sign && is_ascii_sign(piece[at])) {
    const size_t end = skip_while(piece, at + 1, is_ascii_letter);
    if (end > at + 1) return end;
  }
  const size_t end =
      words.letters == Letters::by_case
          ? match_by_case(piece, at, at + 1 < piece.size() && may_lead(words.letters, piece, at))
          : match_letter_run(words, piece, at);
  return end > at && words.contractions == Contractions::of_word
             ? match_contraction(words.contractions, piece, end)
             : end;
}

size_t match_number(const Words& words, Piece piece, size_t at) {
  if (words.max_digits > 0) {
    const size_t most = std::min(words.max_digits, piece.size() - at);
    return skip_traits(piece.first(at + most), at, trait::kNumber);
  }
  const size_t begin = is(piece, at, ' ') ? at + 1 : at;
  const size_t end = skip_traits(piece, begin, trait::kNumber);
  return end > begin ? end : at;
}

// See Others and Words::tails.
size_t match_others(const Words& words, Piece piece, size_t at) {
  constexpr uint16_t kSigns = trait::kPunctuation | trait::kSymbol;
  constexpr uint16_t kNotOthers = trait::kSpace | trait::kLetter | trait::kNumber;
  const auto not_others = static_cast<uint16_t>(
      words.others == Others::but_marks ? kNotOthers | trait::kMark : kNotOthers);
  const size_t begin = is(piece, at, ' ') ? at + 1 : at;
  const size_t end =
      words.others == Others::signs
          ? skip_traits(piece, begin, kSigns)
          : skip_while(piece, begin, [=](Character c) { return (c.traits & not_others) == 0; });
  if (end == begin) return at;
  return skip_while(piece, end, [&words](Character c) {
    return c.code_point < 0x80 &&
           words.tails.find(static_cast<char>(c.code_point)) != std::string_view::npos;
  });
}

// See Newlines; otherwise \s+(?!\S) or \s+: the last space in front of a word is left for the word.
size_t match_spaces(const Words& words, Piece piece, size_t at) {
  if (words.newlines == Newlines::single && is_newline(piece, at)) return at + 1;
  const size_t end = skip_traits(piece, at, trait::kSpace);
  if (end == at) return at;
  if (words.newlines == Newlines::runs) {
    size_t line_end = end;
    while (line_end > at && !is_newline(piece, line_end - 1)) --line_end;
    if (line_end > at) return line_end;
  }
  return end == piece.size() || end == at + 1 ? end : end - 1;
}

// Returns the end of the word that begins at `at`; `at` if none begins there, for example at a
// control character with Others::signs.
size_t match_word(const Words& words, Piece piece, size_t at) {
  if (words.apart != nullptr) {
    const size_t end = match_run(*words.apart, piece, at);
    if (end > at) return end;
  }
  if (words.contractions != Contractions::of_word) {
    const size_t end = match_contraction(words.contractions, piece, at);
    if (end > at) return end;
  }
  for (const auto match : {match_letters, match_number, match_others, match_spaces}) {
    const size_t end = match(words, piece, at);
    if (end > at) return end;
  }
  return at;
}

}  // namespace

// ---- The table

// Cuts each piece of the previous stage into matches and the text between them. Exactly one of the
// three members is set.
struct SplitStage {
  const Run* run = nullptr;
  const Words* words = nullptr;
  bool groups_digits = false;  // cuts runs of numbers into groups of three, counted from the end
};

struct SplitPattern {
  std::span<const SplitStage> stages;
};

namespace {

// Chinese characters.
constexpr CodePointRange kHanRanges[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},
                                         {0xf900, 0xfaff},   {0x20000, 0x2a6df},
                                         {0x2a700, 0x2ebef}, {0x2f800, 0x2fa1f}};
constexpr Run kHan = {.ranges = kHanRanges};

constexpr Words kGpt2Words = {Contractions::lower_case, Letters::after_space, 0, "",
                              Newlines::spaces};
constexpr Words kLlama3Words = {Contractions::any_case, Letters::after_any, 3, "\r\n",
                                Newlines::runs};
constexpr Words kQwen2Words = {Contractions::any_case, Letters::after_any, 1, "\r\n",
                               Newlines::runs};
constexpr Words kQwen35Words = {Contractions::any_case, Letters::with_marks, 1, "\r\n",
                                Newlines::runs,         Others::but_marks};
constexpr Words kK2HorizonWords = {Contractions::ascii_case, Letters::with_joiners, 3, "\r\n",
                                   Newlines::runs};
constexpr Words kUfakzekaWords = {Contractions::none, Letters::after_any, 1, "\r\n",
                                  Newlines::runs};
constexpr Words kSeedCoderWords = {Contractions::any_case, Letters::after_any, 1, "",
                                   Newlines::runs};
constexpr Words kO200kWords = {Contractions::of_word, Letters::by_case, 3, "\r\n/", Newlines::runs};
constexpr Words kTekkenWords = {Contractions::none, Letters::by_case, 1, "\r\n/", Newlines::runs};
constexpr Words kTinyAyaWords = {Contractions::of_word, Letters::with_marks, 3, "\r\n/",
                                 Newlines::runs};
constexpr Words kYoutuWords = {Contractions::of_word, Letters::with_marks, 1, "\r\n/",
                               Newlines::runs};
constexpr Words kKimiWords = {Contractions::of_word, Letters::after_any, 3,    "\r\n",
                              Newlines::runs,        Others::all,        &kHan};
constexpr Words kDeepSeekV3Words = {Contractions::none, Letters::after_sign, 3, "\r\n",
                                    Newlines::runs,     Others::signs};
constexpr Words kSparkWords = {Contractions::none, Letters::after_sign, 3, "",
                               Newlines::single,   Others::signs};

constexpr Run kNumber = {.traits = trait::kNumber};
constexpr Run kSingleNumber = {.traits = trait::kNumber, .max = 1};
constexpr Run kThreeNumbers = {.traits = trait::kNumber, .max = 3};
constexpr CodePointRange kAsciiDigits[] = {{'0', '9'}};
constexpr Run kThreeDigits = {.ranges = kAsciiDigits, .min = 3, .max = 3};

constexpr CodePointRange kOperators[] = {{'$', '$'}, {'+', '+'}, {'<', '>'},
                                         {'^', '^'}, {'|', '|'}, {'~', '~'}};
constexpr Run kPunctuation = {.traits = trait::kPunctuation, .ranges = kOperators};
constexpr CodePointRange kFalconOperators[] = {{'$', '$'}, {'+', '+'}, {'<', '>'}, {'^', '^'},
                                               {'`', '`'}, {'|', '|'}, {'~', '~'}};
constexpr Run kFalconPunctuation = {.traits = trait::kPunctuation, .ranges = kFalconOperators};

constexpr CodePointRange kNewlines[] = {{'\n', '\n'}, {'\r', '\r'}};
constexpr Run kNewline = {.ranges = kNewlines, .max = 1};
constexpr Run kTrailingSpaces = {.traits = trait::kSpace, .at_end = true};
constexpr Run kLettersAfterSpace = {.traits = trait::kLetter, .takes_space = true};
constexpr Run kPunctuationAfterSpace = {.traits = trait::kPunctuation, .takes_space = true};
constexpr CodePointRange kEastAsian[] = {{0x800, 0x9fa5}, {0xac00, 0xd7ff}};
constexpr Run kEastAsianText = {.ranges = kEastAsian};
constexpr CodePointRange kChineseAndKana[] = {{0x3040, 0x30ff}, {0x4e00, 0x9fa5}};
constexpr Run kChineseOrKana = {.ranges = kChineseAndKana};
constexpr CodePointRange kKorean[] = {{0x3131, 0x318e}, {0xac00, 0xd7a3}};
constexpr Run kKoreanText = {.ranges = kKorean};
constexpr CodePointRange kBopomofoLetters[] = {{0x3105, 0x312f}};
constexpr Run kBopomofo = {.ranges = kBopomofoLetters};
constexpr CodePointRange kWideMarks[] = {{0x2014, 0x2014}, {0x2018, 0x2019}, {0x201c, 0x201d},
                                         {0x2026, 0x2026}, {0x3001, 0x303f}, {0xfe30, 0xfe4f},
                                         {0xff01, 0xff01}, {0xff0c, 0xff0c}, {0xff1a, 0xff1b}};
constexpr Run kWidePunctuation = {.ranges = kWideMarks};
constexpr CodePointRange kLineFeed[] = {{'\n', '\n'}};
constexpr Run kLineFeeds = {.ranges = kLineFeed};

// Letters with case, as deepseek-llm lists them: without some that Unicode added later.
constexpr CodePointRange kCased[] = {
    {'A', 'Z'},         {'a', 'z'},         {0xb5, 0xb5},       {0xc0, 0xd6},
    {0xd8, 0xf6},       {0xf8, 0x1ba},      {0x1bc, 0x1bf},     {0x1c4, 0x293},
    {0x295, 0x2af},     {0x370, 0x373},     {0x376, 0x377},     {0x37b, 0x37d},
    {0x37f, 0x37f},     {0x386, 0x386},     {0x388, 0x38a},     {0x38c, 0x38c},
    {0x38e, 0x3a1},     {0x3a3, 0x3f5},     {0x3f7, 0x481},     {0x48a, 0x52f},
    {0x531, 0x556},     {0x10a0, 0x10c5},   {0x13a0, 0x13f5},   {0x13f8, 0x13fd},
    {0x1c90, 0x1cba},   {0x1cbd, 0x1cbf},   {0x1d00, 0x1d2b},   {0x1d6b, 0x1d77},
    {0x1d79, 0x1d9a},   {0x1e00, 0x1f15},   {0x1f18, 0x1f1d},   {0x1f20, 0x1f45},
    {0x1f48, 0x1f4d},   {0x1f50, 0x1f57},   {0x1f59, 0x1f59},   {0x1f5b, 0x1f5b},
    {0x1f5d, 0x1f5d},   {0x1f5f, 0x1f7d},   {0x1f80, 0x1fb4},   {0x1fb6, 0x1fbc},
    {0x1fbe, 0x1fbe},   {0x1fc2, 0x1fc4},   {0x1fc6, 0x1fcc},   {0x1fd0, 0x1fd3},
    {0x1fd6, 0x1fdb},   {0x1fe0, 0x1fec},   {0x1ff2, 0x1ff4},   {0x1ff6, 0x1ffc},
    {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210a, 0x2113},   {0x2115, 0x2115},
    {0x2119, 0x211d},   {0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},
    {0x212a, 0x212d},   {0x212f, 0x2134},   {0x2139, 0x2139},   {0x213c, 0x213f},
    {0x2145, 0x2149},   {0x214e, 0x214e},   {0x2183, 0x2184},   {0x2c00, 0x2c7b},
    {0x2c7e, 0x2ce4},   {0x2ceb, 0x2cee},   {0x2cf2, 0x2cf3},   {0xa640, 0xa66d},
    {0xa680, 0xa69b},   {0xa722, 0xa76f},   {0xa771, 0xa787},   {0xa78b, 0xa78e},
    {0xab70, 0xabbf},   {0xfb00, 0xfb06},   {0xfb13, 0xfb17},   {0xff21, 0xff3a},
    {0xff41, 0xff5a},   {0x10400, 0x1044f}, {0x104b0, 0x104d3}, {0x104d8, 0x104fb},
    {0x10c80, 0x10cb2}, {0x10cc0, 0x10cf2}, {0x118a0, 0x118df}, {0x1e900, 0x1e943}};
constexpr Run kCasedAfterSpace = {.ranges = kCased, .takes_space = true};

// The range up to '~' includes letters, so a word of the previous stage is cut at its accents.
constexpr CodePointRange kAsciiAndWide[] = {{'!', '/'},       {':', '~'},       {0x2018, 0x201f},
                                            {0x3000, 0x3002}, {0xff01, 0xff0f}, {0xff1a, 0xff5e}};
constexpr Run kAsciiAndWideAfterSpace = {.ranges = kAsciiAndWide, .takes_space = true};

constexpr SplitStage kGpt2Stages[] = {{.words = &kGpt2Words}};
constexpr SplitStage kLlama3Stages[] = {{.words = &kLlama3Words}};
constexpr SplitStage kQwen2Stages[] = {{.words = &kQwen2Words}};
constexpr SplitStage kQwen35Stages[] = {{.words = &kQwen35Words}};
constexpr SplitStage kK2HorizonStages[] = {{.words = &kK2HorizonWords}};
constexpr SplitStage kO200kStages[] = {{.words = &kO200kWords}};
constexpr SplitStage kTekkenStages[] = {{.words = &kTekkenWords}};
constexpr SplitStage kStarcoderStages[] = {{.run = &kSingleNumber}, {.words = &kGpt2Words}};
constexpr SplitStage kFalconStages[] = {
    {.run = &kFalconPunctuation}, {.words = &kGpt2Words}, {.run = &kThreeDigits}};
constexpr SplitStage kDefaultStages[] = {
    {.run = &kPunctuation}, {.words = &kGpt2Words}, {.run = &kNumber}, {.run = &kThreeDigits}};
constexpr SplitStage kDeepSeekCoderStages[] = {{.run = &kNewline},
                                               {.run = &kLettersAfterSpace},
                                               {.run = &kPunctuationAfterSpace},
                                               {.run = &kEastAsianText},
                                               {.run = &kSingleNumber}};
constexpr SplitStage kDeepSeekLlmStages[] = {
    {.run = &kNewline},        {.run = &kCasedAfterSpace}, {.run = &kAsciiAndWideAfterSpace},
    {.run = &kTrailingSpaces}, {.run = &kEastAsianText},   {.run = &kNumber}};

constexpr SplitStage kUfakzekaStages[] = {{.words = &kUfakzekaWords}};
constexpr SplitStage kSeedCoderStages[] = {{.words = &kSeedCoderWords}};
constexpr SplitStage kLagunaStages[] = {{.run = &kLineFeeds}, {.words = &kQwen2Words}};
constexpr SplitStage kLineStages[] = {{.run = &kLineFeeds}};
constexpr SplitStage kMiniCpm5Stages[] = {{.run = &kThreeNumbers}, {.words = &kLlama3Words}};
constexpr SplitStage kTinyAyaStages[] = {{.groups_digits = true}, {.words = &kTinyAyaWords}};
constexpr SplitStage kKimiStages[] = {{.words = &kKimiWords}};
constexpr SplitStage kYoutuStages[] = {{.run = &kKoreanText},
                                       {.run = &kWidePunctuation},
                                       {.run = &kBopomofo},
                                       {.run = &kChineseOrKana},
                                       {.words = &kYoutuWords}};
constexpr SplitStage kDeepSeekV3Stages[] = {
    {.run = &kThreeNumbers}, {.run = &kChineseOrKana}, {.words = &kDeepSeekV3Words}};
constexpr SplitStage kSparkStages[] = {{.run = &kThreeNumbers},
                                       {.run = &kChineseOrKana},
                                       {.words = &kSparkWords},
                                       {.run = &kSingleNumber}};

constexpr SplitPattern kGpt2 = {kGpt2Stages};
constexpr SplitPattern kLlama3 = {kLlama3Stages};
constexpr SplitPattern kQwen2 = {kQwen2Stages};
constexpr SplitPattern kQwen35 = {kQwen35Stages};
constexpr SplitPattern kK2Horizon = {kK2HorizonStages};
constexpr SplitPattern kO200k = {kO200kStages};
constexpr SplitPattern kTekken = {kTekkenStages};
constexpr SplitPattern kStarcoder = {kStarcoderStages};
constexpr SplitPattern kFalcon = {kFalconStages};
constexpr SplitPattern kDefault = {kDefaultStages};
constexpr SplitPattern kDeepSeekCoder = {kDeepSeekCoderStages};
constexpr SplitPattern kDeepSeekLlm = {kDeepSeekLlmStages};
constexpr SplitPattern kDeepSeekV3 = {kDeepSeekV3Stages};
constexpr SplitPattern kSpark = {kSparkStages};
constexpr SplitPattern kUfakzeka = {kUfakzekaStages};
constexpr SplitPattern kSeedCoder = {kSeedCoderStages};
constexpr SplitPattern kLaguna = {kLagunaStages};
constexpr SplitPattern kLines = {kLineStages};
constexpr SplitPattern kMiniCpm5 = {kMiniCpm5Stages};
constexpr SplitPattern kTinyAya = {kTinyAyaStages};
constexpr SplitPattern kKimi = {kKimiStages};
constexpr SplitPattern kYoutu = {kYoutuStages};

constexpr Pretokenizer kPretokenizers[] = {
    {"default", &kDefault},
    // GPT-2 and its successors
    {"gpt-2", &kGpt2},
    {"phi-2", &kGpt2},
    {"olmo", &kGpt2},
    {"mpt", &kGpt2},
    {"jais", &kGpt2},
    {"mellum", &kGpt2},
    {"gigachat", &kGpt2},
    {"exaone4", &kGpt2},
    {"trillion", &kGpt2},
    {"granite-docling", &kGpt2},
    {"a.x-4.0", &kGpt2},
    {"modern-bert", &kGpt2},
    {"jina-es", &kGpt2},
    {"jina-de", &kGpt2},
    {"jina-v2-es", &kGpt2},
    {"jina-v2-de", &kGpt2},
    {.name = "jina-v1-en", .pattern = &kGpt2, .adds_separator = true},
    {.name = "jina-v2-code", .pattern = &kGpt2, .adds_separator = true},
    {.name = "roberta-bpe", .pattern = &kGpt2, .adds_separator = true},
    // each digit by itself
    {"starcoder", &kStarcoder},
    {"refact", &kStarcoder},
    {"command-r", &kStarcoder},
    {"smollm", &kStarcoder},
    {"codeshell", &kStarcoder},
    {"mellum2", &kStarcoder},
    {"exaone", &kStarcoder},
    {"minerva-7b", &kStarcoder},
    {"falcon", &kFalcon},
    // Llama 3
    {.name = "llama3", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {.name = "llama-v3", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {.name = "llama-bpe", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {.name = "falcon3", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {.name = "falcon-h1", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {.name = "pixtral", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {.name = "lfm2", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {.name = "midm-2.0", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {.name = "jina-v5-nano", .pattern = &kLlama3, .prefers_whole_words = true, .add_bos = true},
    {"dbrx", &kLlama3},
    {"smaug-bpe", &kLlama3},
    {"glm4", &kLlama3},
    {"chatglm-bpe", &kLlama3},
    // Qwen 2 to 3
    {"qwen2", &kQwen2},
    {"stablelm2", &kQwen2},
    {"deepseek-r1-qwen", &kQwen2},
    {"megrez", &kQwen2},
    {"hunyuan", &kQwen2},
    {"grok-2", &kQwen2},
    {"kormo", &kQwen2},
    {"f2llmv2", &kQwen2},
    {"solar-open", &kQwen2},
    {"bailingmoe", &kQwen2},
    {"bailingmoe2", &kQwen2},
    {"llada-moe", &kQwen2},
    {"seed-coder", &kSeedCoder},
    {"ufakzeka", &kUfakzeka},
    {"laguna", &kLaguna},
    // Qwen 3.5
    {"qwen35", &kQwen35},
    // o200k
    {"gpt-4o", &kO200k},
    {"llama4", &kO200k},
    {"kanana2", &kO200k},
    {"talkie", &kO200k},
    {"minimax-m2", &kO200k},
    {.name = "granite-embed-multi-97m", .pattern = &kO200k, .prefers_whole_words = true},
    {.name = "tekken", .pattern = &kTekken, .prefers_whole_words = true, .add_bos = true},
    {"deepseek-llm", &kDeepSeekLlm},
    {"deepseek-coder", &kDeepSeekCoder},
    // DeepSeek V3
    {"deepseek-v3", &kDeepSeekV3},
    {"hunyuan-dense", &kDeepSeekV3},
    {"joyai-llm", &kDeepSeekV3},
    {"hy_v4", &kDeepSeekV3},
    {"spark2_5", &kSpark},
    // models with patterns of their own
    {.name = "minicpm5", .pattern = &kMiniCpm5, .prefers_whole_words = true},
    {.name = "youtu", .pattern = &kYoutu, .prefers_whole_words = true},
    {"tiny_aya", &kTinyAya},
    {"cohere2moe", &kTinyAya},
    {"kimi-k2", &kKimi},
    {"k2-horizon", &kK2Horizon},
    // Gemma 4
    {.name = "gemma4", .pattern = &kLines, .merges_characters = true},
    {.name = "granite-embed-multi-311m", .pattern = &kLines, .merges_characters = true},
};

std::vector<Character> decode_characters(std::string_view text) {
  const UnicodeTable& unicode = UnicodeTable::get();
  std::vector<Character> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const auto n_bytes = static_cast<uint8_t>(c.state == Utf8State::well_formed ? c.n_bytes : 1);
    characters.push_back({c.code_point, unicode.traits(c.code_point), n_bytes});
    text.remove_prefix(n_bytes);
  }
  return characters;
}

// Like cut(), for runs of numbers. The first group of a run may have one or two digits. It stays
// joined to the text in front of it; the next stage separates the two.
void group_digits(Piece characters, size_t begin, size_t end, std::vector<uint32_t>& ends) {
  const auto append = [&](size_t at) { ends.push_back(static_cast<uint32_t>(at)); };
  const Piece piece = characters.first(end);
  size_t last = begin;
  for (size_t at = begin; at < end; ++at) {
    const size_t run_end = skip_traits(piece, at, trait::kNumber);
    if (run_end == at) continue;
    const size_t n_first = (run_end - at) % 3;
    if (n_first > 0) append(at + n_first);
    for (size_t i = at + n_first; i < run_end; i += 3) append(i + 3);
    last = at = run_end;
  }
  if (last < end) append(end);
}

// Appends the ends of the parts that the stage cuts characters[begin, end) into.
void cut(const SplitStage& stage, Piece characters, size_t begin, size_t end,
         std::vector<uint32_t>& ends) {
  if (stage.groups_digits) return group_digits(characters, begin, end, ends);
  const Piece piece = characters.subspan(begin, end - begin);
  const auto append = [&](size_t at) { ends.push_back(static_cast<uint32_t>(begin + at)); };
  size_t last = 0;  // the end of the last part
  for (size_t at = 0; at < piece.size();) {
    const size_t match_end = stage.words != nullptr ? match_word(*stage.words, piece, at)
                                                    : match_run(*stage.run, piece, at);
    if (match_end == at) {
      ++at;
      continue;
    }
    if (at > last) append(at);
    append(match_end);
    last = at = match_end;
  }
  if (last < piece.size()) append(piece.size());
}

}  // namespace

const Pretokenizer* find_pretokenizer(std::string_view name) {
  const auto found = std::find_if(std::begin(kPretokenizers), std::end(kPretokenizers),
                                  [name](const Pretokenizer& row) { return row.name == name; });
  return found == std::end(kPretokenizers) ? nullptr : found;
}

std::vector<uint32_t> split_words(const Pretokenizer& pretokenizer, std::string_view text) {
  const std::vector<Character> characters = decode_characters(text);
  std::vector<uint32_t> ends;
  if (!characters.empty()) ends.push_back(static_cast<uint32_t>(characters.size()));
  for (const SplitStage& stage : pretokenizer.pattern->stages) {
    std::vector<uint32_t> finer_ends;
    size_t begin = 0;
    for (const uint32_t end : ends) {
      cut(stage, characters, begin, end, finer_ends);
      begin = end;
    }
    ends = std::move(finer_ends);
  }

  std::vector<uint32_t> sizes;
  sizes.reserve(ends.size());
  size_t at = 0;
  for (const uint32_t end : ends) {
    uint32_t n_bytes = 0;
    for (; at < end; ++at) n_bytes += characters[at].n_bytes;
    sizes.push_back(n_bytes);
  }
  return sizes;
}

}  // namespace kinglet
