#include "grammar/grammar_matcher.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace kinglet {
namespace {

using Kind = GrammarStep::Kind;

// The bytes of transitions, states and frames that are kept before they are forgotten: thousands of
// states, while grammars of JSON schemas have hundreds.
constexpr size_t kMaxCacheBytes = 4 << 20;

// The most ways to read a text that are followed, including dead ends. A choice among thousands of
// literals has that many. A grammar with more is ambiguous at every byte, and would grow without
// end.
constexpr size_t kMaxThreads = 1 << 16;

// To test whether a thread takes a byte takes so much less time than to visit one.
constexpr size_t kTestsPerVisit = 32;

constexpr size_t kMinSlots = 16;

GrammarThread make_thread(uint32_t step, uint32_t frame) {
  return GrammarThread{step} << 32 | frame;
}

uint32_t step_of(GrammarThread thread) { return static_cast<uint32_t>(thread >> 32); }
uint32_t frame_of(GrammarThread thread) { return static_cast<uint32_t>(thread & UINT32_MAX); }

}  // namespace

uint32_t GrammarThreadLists::find_or_add(std::span<const GrammarThread> list) {
  const size_t slot = slot_of(list);
  if (slots_[slot] != 0) return slots_[slot] - 1;
  const uint32_t id = size();
  slots_[slot] = id + 1;
  for (const GrammarThread thread : list) threads_.push_back(thread);
  begins_.push_back(static_cast<uint32_t>(threads_.size()));
  if (2 * size_t{size()} > slots_.size()) grow();
  return id;
}

void GrammarThreadLists::clear() {
  threads_.clear();
  begins_.assign(1, 0);
  slots_.assign(kMinSlots, 0);
}

size_t GrammarThreadLists::slot_of(std::span<const GrammarThread> list) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = static_cast<size_t>(hash_bytes(std::as_bytes(list))) & mask;
  while (slots_[slot] != 0) {
    const auto other = (*this)[slots_[slot] - 1];
    if (std::equal(list.begin(), list.end(), other.begin(), other.end())) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

void GrammarThreadLists::grow() {
  slots_.assign(2 * slots_.size(), 0);
  for (uint32_t id = 0; id < size(); ++id) slots_[slot_of((*this)[id])] = id + 1;
}

bool GrammarThreadSet::add(GrammarThread thread) {
  if (2 * threads_.size() >= slots_.size()) {
    slots_.assign(std::max(2 * slots_.size(), kMinSlots), 0);
    for (const GrammarThread other : threads_) slots_[slot_of(other)] = ~other;
  }
  GrammarThread& slot = slots_[slot_of(thread)];
  if (slot != 0) return false;
  slot = ~thread;
  threads_.push_back(thread);
  return true;
}

size_t GrammarThreadSet::slot_of(GrammarThread thread) const {
  const size_t mask = slots_.size() - 1;
  const uint64_t hash = thread * 0x9e3779b97f4a7c15u;  // 2^64 / the golden ratio: spreads the bits
  size_t slot = static_cast<size_t>(hash >> 32) & mask;
  while (slots_[slot] != 0 && slots_[slot] != ~thread) slot = (slot + 1) & mask;
  return slot;
}

// Takes time for the threads in the set, not for the slots that it once needed.
void GrammarThreadSet::clear() {
  if (threads_.size() > slots_.size() / 16) {
    std::fill(slots_.begin(), slots_.end(), 0);
  } else {
    // In reverse, so that each thread is still found.
    for (size_t i = threads_.size(); i-- > 0;) slots_[slot_of(threads_[i])] = 0;
  }
  threads_.clear();
}

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)) {
  reset_states();
  frames_.find_or_add({});
  follow(make_thread(Grammar::kStart, 0));
  start_ = take_found();
}

GrammarMatcher::State GrammarMatcher::compute_next(State state, uint8_t byte) {
  if (work_left_ == 0) {
    is_too_ambiguous_ = true;
    return kRefused;
  }
  spend(states_[state].size() / kTestsPerVisit);
  // No step begins or ends between these bytes, so all of them lead to the same state.
  uint8_t low = 0;
  uint8_t high = UINT8_MAX;
  // The list stays valid in the loop, because follow() adds no states.
  for (const GrammarThread thread : states_[state]) {
    const GrammarStep& step = grammar_->steps()[step_of(thread)];
    if (step.kind != Kind::take) continue;
    if (byte < step.low) {
      high = std::min<uint8_t>(high, step.low - 1);
    } else if (byte > step.high) {
      low = std::max<uint8_t>(low, step.high + 1);
    } else {
      low = std::max(low, step.low);
      high = std::min(high, step.high);
      follow(make_thread(step_of(thread) + 1, frame_of(thread)));
    }
  }
  const State next = take_found();
  State* const transitions = transitions_of(state);
  std::fill(transitions + grammar_->byte_class(low), transitions + grammar_->byte_class(high) + 1,
            next);
  return next;
}

GrammarMatcher::State GrammarMatcher::next_token(State state, int32_t id) {
  for (const GrammarThread thread : states_[state]) {
    const GrammarStep& step = grammar_->steps()[step_of(thread)];
    if (step.kind == Kind::token && step.target == id) {
      follow(make_thread(step_of(thread) + 1, frame_of(thread)));
    }
  }
  return take_found();
}

// Finds the threads that can be reached from this one and that take a byte or a token, or end the
// text.
void GrammarMatcher::follow(GrammarThread thread) {
  todo_.push_back(thread);
  while (!todo_.empty() && visited_.size() < kMaxThreads) {
    thread = todo_.back();
    todo_.pop_back();
    if (!visited_.add(thread)) continue;

    const uint32_t index = step_of(thread);
    const uint32_t frame = frame_of(thread);
    const GrammarStep& step = grammar_->steps()[index];
    const uint32_t target = index + static_cast<uint32_t>(step.target);  // wraps
    switch (step.kind) {
      case Kind::take:
      case Kind::token:
        found_.push_back(thread);
        break;
      case Kind::split:
        todo_.push_back(make_thread(index + 1, frame));
        todo_.push_back(make_thread(target, frame));
        break;
      case Kind::jump:
        todo_.push_back(make_thread(target, frame));
        break;
      case Kind::call:
        todo_.push_back(make_thread(target, frame_behind(index, frame)));
        break;
      case Kind::end:
        if (thread == kEndOfText) {
          found_.push_back(thread);
        } else {
          todo_.push_back(frames_[frame][0]);
        }
        break;
    }
  }
}

// Returns the frame that a call returns to. A call at the end of its rule returns to where the rule
// returns, so that a rule which repeats by calling itself needs no more frames for a longer text.
// The call of step 0 always gets a frame, because frame 0 has no place to return to.
uint32_t GrammarMatcher::frame_behind(uint32_t call, uint32_t frame) {
  uint32_t index = call + 1;
  while (grammar_->steps()[index].kind == Kind::jump) {
    index += static_cast<uint32_t>(grammar_->steps()[index].target);  // wraps
  }
  if (frame != 0 && grammar_->steps()[index].kind == Kind::end) return frame;
  return frames_.find_or_add_one(make_thread(call + 1, frame));
}

// Returns the state of the threads that were found.
GrammarMatcher::State GrammarMatcher::take_found() {
  if (visited_.size() >= kMaxThreads) {
    is_too_ambiguous_ = true;
    found_.clear();
    todo_.clear();
  }
  std::sort(found_.begin(), found_.end());
  const State state = states_.find_or_add(found_);
  spend(visited_.size());
  make_room();
  const size_t transition_bytes = blocks_.size() * blocks_[0].size() * sizeof(State);
  is_full_ = transition_bytes + states_.bytes() + frames_.bytes() > kMaxCacheBytes;
  found_.clear();
  visited_.clear();
  return state;
}

// Makes room for the transitions of the last state.
void GrammarMatcher::make_room() {
  if (blocks_.size() * kBlock >= states_.size()) return;
  blocks_.emplace_back(size_t{kBlock} * grammar_->n_byte_classes(), kUnknown);
}

void GrammarMatcher::reset_states() {
  states_.clear();
  blocks_.clear();
  states_.find_or_add({});  // kRefused
  make_room();
  std::fill_n(transitions_of(kRefused), grammar_->n_byte_classes(), kRefused);
}

// A frame has a larger number than the frame that it returns to. Renumbering keeps this order.
GrammarMatcher::State GrammarMatcher::forget_all_but(State state) {
  for (const GrammarThread thread : states_[state]) found_.push_back(thread);
  std::vector<uint32_t> numbers(frames_.size());  // first 1 for those that are needed
  for (const GrammarThread thread : found_) numbers[frame_of(thread)] = 1;
  for (uint32_t id = frames_.size() - 1; id > 0; --id) {
    if (numbers[id] != 0) numbers[frame_of(frames_[id][0])] = 1;
  }
  const GrammarThreadLists old = std::exchange(frames_, GrammarThreadLists());
  numbers[0] = frames_.find_or_add({});
  const auto renumbered = [&](GrammarThread thread) {
    return make_thread(step_of(thread), numbers[frame_of(thread)]);
  };
  for (uint32_t id = 1; id < old.size(); ++id) {
    if (numbers[id] != 0) numbers[id] = frames_.find_or_add_one(renumbered(old[id][0]));
  }
  for (GrammarThread& thread : found_) thread = renumbered(thread);
  ++n_forgotten_;
  reset_states();
  return take_found();
}

}  // namespace kinglet
