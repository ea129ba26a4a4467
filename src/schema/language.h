// Regular languages as expressions. These have the operations of patterns (concatenation, choice,
// repetition), and intersection and complement to combine several requirements. What may follow a
// character is again an expression, the derivative (J. Brzozowski, 1964). There are finitely many
// of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/character_set.h"
#include "grammar/expression.h"

namespace kinglet::schema {

struct Language {
  enum class Kind : uint8_t {
    set,            // of texts of one character
    concatenation,  // of two parts; without parts, only the empty text
    alternation,
    intersection,
    complement,
    repetition
  };

  Kind kind;
  bool has_empty_text;
  uint32_t id = 0;
  std::vector<const Language*> parts = {};
  CharacterSet characters = {};  // of a set
  uint64_t least = 0;            // of a repetition
  uint64_t most = 0;             // may be kUnlimited
};

// Makes expressions. Equal expressions are the same object, which lives as long as this.
class Languages {
 public:
  using Parts = std::vector<const Language*>;

  Languages();
  Languages(const Languages&) = delete;
  Languages& operator=(const Languages&) = delete;

  // Whether the work would have taken too long. From then on, results mean nothing.
  bool is_exhausted() const { return is_exhausted_; }

  const Language* none() const { return none_; }
  const Language* empty_text() const { return empty_text_; }
  const Language* any_character() const { return any_character_; }
  const Language* any_text() const { return any_text_; }

  const Language* set(const CharacterSet& characters);
  const Language* text(std::string_view text);
  const Language* concatenation(const Language* first, const Language* rest);
  const Language* alternation(Parts parts);
  const Language* intersection(Parts parts);
  const Language* complement(const Language* part);
  const Language* repetition(const Language* part, uint64_t least, uint64_t most);

  // Returns the texts that may follow the character.
  const Language* derivative(const Language* language, char32_t code_point);

  bool contains(const Language* language, std::string_view text);

  // Counts a step of work that makes no expression.
  void count_work(size_t n);

 private:
  struct Hash {
    size_t operator()(const Language* language) const;
  };
  struct Equal {
    bool operator()(const Language* a, const Language* b) const;
  };
  struct Step {
    const Language* from;
    char32_t code_point;
    bool operator==(const Step&) const = default;
  };
  struct StepHash {
    size_t operator()(const Step& step) const;
  };

  const Language* make(Language language);
  const Language* joined(Language::Kind kind, Parts parts);
  const Language* concatenated(const Language* first, const Language* rest);
  const Language* compute_derivative(const Language* language, char32_t code_point);

  std::list<Language> languages_;
  std::unordered_set<const Language*, Hash, Equal> known_;
  std::unordered_map<Step, const Language*, StepHash> derivatives_;
  size_t work_ = 0;
  int depth_ = 0;  // of derivatives inside derivatives
  bool is_exhausted_ = false;

  const Language* none_;
  const Language* empty_text_;
  const Language* any_character_;
  const Language* any_text_;
};

// Returns all characters, in classes: each set of the language has all of a class or none.
std::vector<CharacterSet> alphabet_of(const Language* language);

}  // namespace kinglet::schema
