// Follows a text through a grammar, byte by byte.
//
// A state holds all ways to read the text so far. Each of them is a thread: the step that takes the
// next byte or token, and the frames of the calls that contain this step. Equal states have the
// same number, and so have equal frames: a transition is computed once and then looked up. The
// parts of the grammar that texts reach become a deterministic automaton (as in RE2, R. Cox, 2010),
// with stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"

namespace kinglet {

// The step << 32 | the frame to which its rule returns, 0 for none. Threads are sorted as numbers.
using GrammarThread = uint64_t;

// Lists of threads, with one number for all lists of the same content.
class GrammarThreadLists {
 public:
  GrammarThreadLists() { clear(); }

  uint32_t find_or_add(std::span<const GrammarThread> list);
  uint32_t find_or_add_one(GrammarThread thread) { return find_or_add({&thread, 1}); }
  std::span<const GrammarThread> operator[](uint32_t id) const {
    return std::span(threads_).subspan(begins_[id], begins_[id + 1] - begins_[id]);
  }
  uint32_t size() const { return static_cast<uint32_t>(begins_.size()) - 1; }
  size_t bytes() const { return threads_.size() * sizeof threads_[0] + begins_.size() * 12; }
  void clear();

 private:
  // The slot of the index that has this list, or the free slot to put it.
  size_t slot_of(std::span<const GrammarThread> list) const;
  void grow();

  std::vector<GrammarThread> threads_;
  std::vector<uint32_t> begins_;  // [size + 1]
  std::vector<uint32_t> slots_;   // open addressing: id + 1, or 0; a power of two, half empty
};

class GrammarThreadSet {
 public:
  // Whether the thread was not in the set yet.
  bool add(GrammarThread thread);
  size_t size() const { return threads_.size(); }
  void clear();

 private:
  size_t slot_of(GrammarThread thread) const;

  std::vector<GrammarThread> threads_;
  std::vector<GrammarThread> slots_;  // open addressing: ~thread, or 0; a power of two, half empty
};

class GrammarMatcher {
 public:
  using State = uint32_t;
  static constexpr State kRefused = 0;

  explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

  State start() const { return start_; }

  // The state after another byte, or kRefused if no step takes that byte. Also kRefused if there
  // are more ways to read the text than can be followed: is_too_ambiguous() is true then.
  State next(State state, uint8_t byte) {
    const State known = transitions_of(state)[grammar_->byte_class(byte)];
    return known != kUnknown ? known : compute_next(state, byte);
  }

  // The state after the bytes of a text, or kRefused.
  State next(State state, std::string_view text) {
    for (size_t i = 0; i < text.size() && state != kRefused; ++i) {
      state = next(state, static_cast<uint8_t>(text[i]));
    }
    return state;
  }

  // The state after a whole token, or kRefused if no step takes that token.
  State next_token(State state, int32_t id);

  // Calls found(id) for each token that a step takes. An id may come more than once.
  template <class Found>
  void for_each_token(State state, Found&& found) const {
    for (const GrammarThread thread : states_[state]) {
      const GrammarStep& step = grammar_->steps()[static_cast<size_t>(thread >> 32)];
      if (step.kind == GrammarStep::Kind::token) found(step.target);
    }
  }

  const Grammar& grammar() const { return *grammar_; }

  // Whether the text may end here. If it can neither end nor continue, the state is kRefused.
  bool is_complete(State state) const {
    const auto threads = states_[state];
    return !threads.empty() && threads[0] == kEndOfText;
  }
  bool can_continue(State state) const {
    return states_[state].size() > (is_complete(state) ? 1u : 0u);
  }

  // Limits the work that next() does until the next call, in threads that are visited, each about
  // 40 ns. After that, it refuses what it does not know yet, and the grammar is too ambiguous.
  void limit_work(size_t n_visits) { work_left_ = n_visits; }
  static constexpr size_t kNoLimit = SIZE_MAX;

  bool is_too_ambiguous() const { return is_too_ambiguous_; }

  // Whether the cache of states and transitions is full: call forget_all_but() then.
  bool is_full() const { return is_full_; }
  // Frees everything except `state`, and returns its new number.
  State forget_all_but(State state);
  // How often that was done: states have the same numbers as long as this is the same.
  uint32_t n_forgotten() const { return n_forgotten_; }

 private:
  static constexpr State kUnknown = UINT32_MAX;
  static constexpr uint32_t kBlock = 64;  // states
  static constexpr GrammarThread kEndOfText = GrammarThread{Grammar::kEnd} << 32;

  // The next state for each class of bytes.
  State* transitions_of(State state) {
    const size_t first = size_t{state % kBlock} * grammar_->n_byte_classes();
    return blocks_[state / kBlock].data() + first;
  }
  State compute_next(State state, uint8_t byte);
  void follow(GrammarThread thread);
  uint32_t frame_behind(uint32_t call, uint32_t frame);
  State take_found();
  void spend(size_t n_visits) { work_left_ -= n_visits < work_left_ ? n_visits : work_left_; }
  void make_room();
  void reset_states();

  std::shared_ptr<const Grammar> grammar_;
  GrammarThreadLists states_;  // sorted threads
  // Transitions [block][states of the block × byte classes]. Blocks do not move: a copy of
  // megabytes would take milliseconds.
  std::vector<std::vector<State>> blocks_;
  GrammarThreadLists frames_;  // each has one thread: the one that continues after a call
  State start_;
  bool is_too_ambiguous_ = false;
  bool is_full_ = false;
  size_t work_left_ = kNoLimit;
  uint32_t n_forgotten_ = 0;
  // Scratch of compute_next.
  std::vector<GrammarThread> todo_;
  std::vector<GrammarThread> found_;
  GrammarThreadSet visited_;
};

}  // namespace kinglet
