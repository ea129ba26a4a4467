// Python's literals in calls. One list of cases, which Python itself checks where there is one.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "json/json.h"
#include "text/answer/literal.h"

namespace kinglet {
namespace {

struct PythonCase {
  std::string_view source;
  std::string_view json;  // empty: there is no JSON for it, or it is no literal
};

constexpr PythonCase kPythonCases[] = {
    // Escapes
    {R"('\x1b[0m')", R"("\u001b[0m")"},
    {R"('\101\60\0')", R"("A0\u0000")"},
    {R"('\1012\18')", R"("A2\u00018")"},
    {R"('\777')", "\"ǿ\""},
    {R"('\a\b\f\n\r\t\v')", R"("\u0007\b\f\n\r\t\u000b")"},
    {R"('\\ \' \"')", R"("\\ ' \"")"},
    {R"('é\u00e9\xe9')", "\"ééé\""},
    {R"('\U0001F600\ud83d\ude00')", "\"😀\\ud83d\\ude00\""},
    {"'a\\\nb'", R"("ab")"},
    {R"('\d+\.\/')", R"("\\d+\\.\\/")"},
    {R"('\N{DASH}')", ""},
    {R"('\x1')", ""},
    {R"('\u12')", ""},
    {R"('\U00110000')", ""},
    // Strings
    {"''", R"("")"},
    {R"("it's")", R"("it's")"},
    {R"('''a'b''c''')", R"("a'b''c")"},
    {"'''a\nb'''", R"("a\nb")"},
    {R"("""say "hi" \x41""")", R"("say \"hi\" A")"},
    {R"('''''')", R"("")"},
    {R"('a' "b" '''c''')", R"("abc")"},
    {R"('' 'a')", R"("a")"},
    {R"(('a'
 'b'))",
     R"("ab")"},
    {R"(r'C:\new\'s' R"\x")", R"("C:\\new\\'s\\x")"},
    {R"(u'a' U"b")", R"("ab")"},
    {R"('x' r'\d' u'\x41')", R"("x\\dA")"},
    {R"(b'a')", ""},
    {R"(Rb'a')", ""},
    {R"(f'a')", ""},
    {R"('a' f'b')", ""},
    {R"('a' b'b')", ""},
    {R"(x'a')", ""},
    // Numbers
    {".5", "0.5"},
    {"1.", "1.0"},
    {"1.e3", "1.0e3"},
    {"1E5", "1E5"},
    {"-.5e-2", "-0.5e-2"},
    {"007.5", "7.5"},
    {"00.0", "0.0"},
    {"077e010", "77e010"},
    {"1_000", "1000"},
    {"1_0.0_1e1_0", "10.01e10"},
    {"0x10", "16"},
    {"0X_fF", "255"},
    {"0o17", "15"},
    {"0b1_01", "5"},
    {"+1", "1"},
    {"- 1", "-1"},
    {"-0x10", "-16"},
    {"-0", "0"},
    {"-0.0", "-0.0"},
    {"00", "0"},
    {"0_0", "0"},
    {"123456789012345678901234567890", "123456789012345678901234567890"},
    {"0xffffffffffffffffffffffff", "79228162514264337593543950335"},
    {"0x3b9aca00000000001", "68719476736000000001"},
    {"01", ""},
    {"0_7", ""},
    {"1__0", ""},
    {"1_", ""},
    {"1_.5", ""},
    {"1._5", ""},
    {"1_e5", ""},
    {"1e_5", ""},
    {"0x", ""},
    {"0b2", ""},
    {"1e", ""},
    {".", ""},
    {"1e999", ""},
    {"-1e999", ""},
    {"[1e400]", ""},
    {"1j", ""},
    {"1+2j", ""},
    {"1+1", ""},
    {"+-1", ""},
    {"-True", ""},
    {"inf", ""},
    {"nan", ""},
    {"float('inf')", ""},
    // Words
    {"True", "true"},
    {"[False, None]", "[false,null]"},
    {"...", ""},
    {"name", ""},
    // Lists and tuples
    {"[]", "[]"},
    {"[1, 'a', [2.5, ], ]", R"([1,"a",[2.5]])"},
    {"()", "[]"},
    {"(1)", "1"},
    {"( ( 'a' ) )", R"("a")"},
    {"(1,)", "[1]"},
    {"(1, (2, 3), [4])", "[1,[2,3],[4]]"},
    {"[1, # one\n 2 # two\n]", "[1,2]"},
    {"[,]", ""},
    {"[1,,2]", ""},
    {"(,)", ""},
    {"(1 2)", ""},
    {"[1; 2]", ""},
    // Sets
    {"{1, 2}", "[1,2]"},
    {"{'b', 'a', 'b',}", R"(["b","a"])"},
    {"{(1, 2), (3,)}", "[[1,2],[3]]"},
    {"{1}", "[1]"},
    {"set()", "[]"},
    {"{[1]}", ""},
    {"{(1, [2])}", ""},
    {"{1, {2}}", ""},
    {"{{}}", ""},
    {"set(1)", ""},
    // Dictionaries
    {"{}", "{}"},
    {"{'a': 1, \"b\": {'c': (1,)}, }", R"({"a":1,"b":{"c":[1]}})"},
    {"{1: 'a', -0x10: 2}", R"({"1":"a","-16":2})"},
    {"{1.0: 'a', 1e16: 2, .5: 3}", R"({"1.0":"a","1e+16":2,"0.5":3})"},
    {"{True: 1, None: 2}", R"({"true":1,"null":2})"},
    {"{'a' 'b': 1}", R"({"ab":1})"},
    {"{(1, 2): 3}", ""},
    {"{b'a': 1}", ""},
    {"{'a': }", ""},
    {"{'a': 1, 'b'}", ""},
    {"{'a', 'b': 1}", ""},
    {"{'a': 1 'b': 2}", ""},
    {"{**{}}", ""},
};

std::string read_python(std::string_view source) {
  std::string json;
  return read_whole_value(source, Dialect::python, json) ? json : "";
}

TEST(PythonLiteral, IsReadAsPythonDoes) {
  for (const auto& [source, json] : kPythonCases) EXPECT_EQ(read_python(source), json) << source;
  EXPECT_EQ(read_python(std::string(4300, '9')), std::string(4300, '9'));
  EXPECT_EQ(read_python(std::string(4301, '9')), "");
  EXPECT_EQ(read_python("0x" + std::string(5000, 'f')), "");
  EXPECT_EQ(read_python(std::string(100'000, '(')), "");
  EXPECT_EQ(read_python(std::string(100'000, '{')), "");
  // Names without quotes and the words of JSON are no Python, but clear.
  EXPECT_EQ(read_python("{a: true, b: [null, false]}"), R"({"a":true,"b":[null,false]})");
}

// A longer text only extends what was certain.
TEST(PythonLiteral, IsTheSameHoweverMuchIsThere) {
  for (const auto& [source, json] : kPythonCases) {
    const std::string text = std::string(source) + ",";
    std::string before;
    Reading reading = Reading::open;
    for (size_t n = 0; n <= text.size(); ++n) {
      LiteralReader reader{
          .rest = std::string_view(text).substr(0, n), .quote = {}, .dialect = Dialect::python};
      std::string now;
      const Reading next = reader.value(now);
      EXPECT_TRUE(reading == Reading::open || next == reading) << source << " at " << n;
      EXPECT_TRUE(now.starts_with(before)) << source << " at " << n << ": " << before << " " << now;
      before = now;
      reading = next;
    }
    if (!json.empty()) {
      EXPECT_EQ(before, json) << source;
    }
  }
}

#if !defined(__EMSCRIPTEN__) && !defined(_WIN32)

std::string hexadecimal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {kHexDigits[byte / 16], kHexDigits[byte % 16]};
  }
  return out;
}

TEST(PythonLiteral, IsTheValueThatPythonGives) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "there is no python3";
  const std::string path = testing::TempDir() + "kinglet-python-literals";
  std::ofstream file(path);
  file << R"(import ast, json, math, sys, warnings
warnings.simplefilter('ignore')
def listed(value):
    if isinstance(value, (list, tuple)):
        return [listed(item) for item in value]
    if isinstance(value, set):
        return sorted((listed(item) for item in value), key=repr)
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    return value
def expected(source):
    value = listed(ast.literal_eval(source))
    return json.loads(json.dumps(value, allow_nan=False)), isinstance(ast.literal_eval(source), set)
for line in sys.stdin:
    source, ours = (bytes.fromhex(part).decode() for part in line.rstrip('\n').split(' '))
    try:
        value, is_set = expected(source)
        found = json.loads(ours) if ours else 'nothing'
        if is_set and ours: found = sorted(found, key=repr)
        if not ours or found != value or type(found) != type(value):
            print(source, 'is', value, 'and was read as', ours)
    except (SyntaxError, ValueError, TypeError, MemoryError) as error:
        if ours: print(source, 'is refused with', error, 'and was read as', ours)
)";
  file.close();
  const std::string command = "python3 '" + path + "' > '" + path + ".out'";
  FILE* pipe = popen(command.c_str(), "w");
  ASSERT_NE(pipe, nullptr);
  for (const auto& [source, json] : kPythonCases) {
    if (source.find("\\N") != source.npos) continue;  // names of characters are not read
    const std::string line = hexadecimal(source) + " " + hexadecimal(read_python(source)) + "\n";
    std::fputs(line.c_str(), pipe);
  }
  EXPECT_EQ(pclose(pipe), 0);
  std::ifstream answer(path + ".out");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(answer), {}), "");
}

#endif

}  // namespace
}  // namespace kinglet
