#include "session/token_masks.h"

#include <algorithm>
#include <bit>

namespace kinglet {
namespace {

// Of the masks that are kept: 64 of a vocabulary of 262,000 tokens.
constexpr size_t kMaxMaskBytes = 2 << 20;

// Of the matcher, for one mask. Grammars of schemas need a hundredth.
constexpr size_t kMaxVisits = 1 << 19;

constexpr GrammarMatcher::State kNoState = UINT32_MAX;

// In most strings, all characters lead to one state, or to a few: names that are taken, a length.
constexpr size_t kMaxProofStates = 24;

void add_once(std::vector<GrammarMatcher::State>& states, GrammarMatcher::State state) {
  if (std::find(states.begin(), states.end(), state) == states.end()) states.push_back(state);
}

}  // namespace

const TokenSet& TokenMasks::after(GrammarMatcher& matcher, State& state, bool drops_space) {
  if (n_forgotten_ != matcher.n_forgotten()) {
    std::fill(states_.begin(), states_.end(), kNoState);
    n_forgotten_ = matcher.n_forgotten();
  }
  const auto known = std::find(states_.begin(), states_.end(), state);
  if (known != states_.end() && !drops_space) {
    return masks_[static_cast<size_t>(known - states_.begin())];
  }
  const size_t n_words = (static_cast<size_t>(tokenizer_->n_tokens()) + 63) / 64;
  const size_t slot = next_slot_;
  next_slot_ = (slot + 1) % std::max<size_t>(kMaxMaskBytes / (n_words * sizeof(uint64_t)), 1);
  if (slot == states_.size()) {
    states_.push_back(kNoState);
    masks_.emplace_back(n_words);
  }
  states_[slot] = kNoState;
  matcher.limit_work(kMaxVisits);
  find(matcher, state, drops_space, masks_[slot]);
  matcher.limit_work(GrammarMatcher::kNoLimit);
  if (n_forgotten_ == matcher.n_forgotten() && !drops_space) states_[slot] = state;
  return masks_[slot];
}

void TokenMasks::find(GrammarMatcher& matcher, State& state, bool drops_space, TokenSet& found) {
  const TokenIndex& index = tokenizer_->index();
  std::fill(found.begin(), found.end(), 0);
  path_.resize(index.max_bytes() + 1);
  size_t end_of_classes = 0;
  for (const TokenIndex::Class& one : index.classes()) {
    const Proof proof = drops_space ? Proof() : prove(matcher, state, one.characters);
    const TokenSet& free = one.up_to[proof.n_free];
    for (size_t i = 0; i < found.size(); ++i) found[i] |= free[i];
    if (!proof.refuses_more && proof.n_free < TokenIndex::kMostCharacters) {
      walk(matcher, state, {one.begin, one.end}, drops_space, found);
    }
    end_of_classes = one.end;
  }
  walk(matcher, state, {end_of_classes, index.size()}, drops_space, found);
  if (drops_space) find_added(matcher, state, found);
  if (matcher.is_complete(state)) {
    for (const TokenId id : index.others()) {
      if (tokenizer_->is_end_of_generation(id)) add_token(found, id);
    }
  }
  // Such a token may be a control token, or one whose text the grammar does not allow.
  matcher.for_each_token(state, [&](TokenId id) {
    // A token that ends generation is not part of the text.
    if (id < tokenizer_->n_tokens() && !tokenizer_->is_end_of_generation(id)) add_token(found, id);
  });
}

// Checks tokens in the order of their bytes, each from the byte at which it differs from the token
// before it. Passes over those that begin with bytes which the grammar refuses.
void TokenMasks::walk(GrammarMatcher& matcher, State& state, Range range, bool drops_space,
                      TokenSet& found) {
  const TokenIndex& index = tokenizer_->index();
  path_[0] = state;
  for (size_t i = range.begin; i < range.end;) {
    const TokenIndex::Entry& entry = index[i];
    std::string_view rest = index.rest(i);
    size_t n_followed = entry.n_shared;
    if (matcher.is_full()) {
      path_[0] = state = matcher.forget_all_but(state);
      rest = tokenizer_->piece(entry.id);
      n_followed = 0;
    }
    if (drops_space && n_followed == 0 && rest.starts_with(' ')) {
      path_[++n_followed] = state;
      rest.remove_prefix(1);
    }
    bool is_allowed = true;
    for (const char c : rest) {
      const State next = matcher.next(path_[n_followed], static_cast<uint8_t>(c));
      is_allowed = next != GrammarMatcher::kRefused;
      if (!is_allowed) break;
      path_[++n_followed] = next;
    }
    if (is_allowed) {
      if (!drops_space || tokenizer_->piece(entry.id) != " ") add_token(found, entry.id);
      ++i;
      continue;
    }
    i = n_followed > entry.n_shared ? i + 1 : entry.after;
    while (index[i].n_shared > n_followed) i = index[i].after;
  }
}

// Follows all characters of the class at once, as long as they lead to few states.
TokenMasks::Proof TokenMasks::prove(GrammarMatcher& matcher, State state,
                                    std::span<const CharacterBytes> characters) {
  const Grammar& grammar = matcher.grammar();
  std::vector<State> now = {state};
  std::vector<State> next;
  std::vector<State> reached;
  std::vector<State> further;
  for (size_t n = 0; n < TokenIndex::kMostCharacters; ++n) {
    next.clear();
    bool refuses_any = false;
    for (const CharacterBytes& character : characters) {
      reached = now;
      for (size_t i = 0; i < character.n_bytes; ++i) {
        const auto [first, last] = character.bytes[i];
        further.clear();
        for (const State from : reached) {
          for (uint32_t byte = first; byte <= last; ++byte) {
            const auto value = static_cast<uint8_t>(byte);
            if (byte > first && grammar.byte_class(value) == grammar.byte_class(value - 1)) {
              continue;
            }
            const State to = matcher.next(from, value);
            if (to == GrammarMatcher::kRefused) {
              refuses_any = true;
            } else {
              add_once(further, to);
            }
          }
        }
        std::swap(reached, further);
      }
      for (const State to : reached) add_once(next, to);
      if (refuses_any && !next.empty()) return {.n_free = n};
    }
    if (next.empty()) return {.n_free = n, .refuses_more = true};
    if (next == now) return {.n_free = TokenIndex::kMostCharacters};
    if (next.size() > kMaxProofStates) return {.n_free = n + 1};
    std::swap(now, next);
  }
  return {.n_free = TokenIndex::kMostCharacters};
}

// Checks the added tokens, which keep their spaces, although others drop them.
void TokenMasks::find_added(GrammarMatcher& matcher, State state, TokenSet& found) const {
  for (TokenId id = 0; id < tokenizer_->n_tokens(); ++id) {
    if (!tokenizer_->vocabulary().is_added(id) || tokenizer_->is_end_of_generation(id)) continue;
    const std::string_view text = tokenizer_->piece(id);
    if (!text.starts_with(' ')) continue;
    remove_token(found, id);
    if (matcher.next(state, text) != GrammarMatcher::kRefused) add_token(found, id);
  }
}

void keep_only(const TokenSet& tokens, float refused, std::span<float> logits) {
  for (size_t i = 0; 64 * i < logits.size(); ++i) {
    const auto part = logits.subspan(64 * i, std::min<size_t>(64, logits.size() - 64 * i));
    const uint64_t bits = i < tokens.size() ? tokens[i] : 0;
    if (bits == 0) {
      std::fill(part.begin(), part.end(), refused);
      continue;
    }
    for (uint64_t left = ~bits; left != 0; left &= left - 1) {
      const auto at = static_cast<size_t>(std::countr_zero(left));
      if (at >= part.size()) break;
      part[at] = refused;
    }
  }
}

}  // namespace kinglet
