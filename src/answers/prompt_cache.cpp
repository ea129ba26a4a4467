#include "answers/prompt_cache.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/hash.h"

namespace kinglet {
namespace {

// Fewer tokens are computed sooner than a state is read.
constexpr uint32_t kLeastGain = 32;

// The prompts that later ones are compared with.
constexpr size_t kRecentPrompts = 16;

bool is_beginning_of(std::span<const TokenId> prompt, const SavedBeginning& beginning) {
  return count_common(beginning.tokens, prompt) == beginning.tokens.size();
}

bool fits(const SavedBeginning& beginning, const Session& session) {
  const SequenceBytes bytes = session.bytes();
  return beginning.model == session.model().identity(session.n_ctx()) &&
         beginning.k_kind == bytes.k_kind && beginning.v_kind == bytes.v_kind &&
         beginning.tokens.size() <= session.n_ctx();
}

// One name for each model, tokens and kinds.
std::string name_of(const Session& session) {
  const SequenceBytes bytes = session.bytes();
  const auto tokens = session.tokens().first(session.n_computed());
  const uint64_t kinds =
      static_cast<uint64_t>(bytes.k_kind) << 8 | static_cast<uint64_t>(bytes.v_kind);
  return cat(hexadecimal(session.model().identity(session.n_ctx())), "-",
             hexadecimal(hash_bytes(std::as_bytes(tokens), kinds)), ".kprompt");
}

}  // namespace

Result<const CachedPrompt*> PromptCache::add(const std::string& name,
                                             std::span<const std::byte> first_bytes) {
  KINGLET_ASSIGN(SavedBeginning beginning, read_beginning(model_, first_bytes));
  remove(name);
  cached_.push_back({name, std::move(beginning)});
  return &cached_.back();
}

void PromptCache::remove(std::string_view name) {
  std::erase_if(cached_, [&](const CachedPrompt& cached) { return cached.name == name; });
}

const CachedPrompt* PromptCache::find(std::span<const TokenId> prompt,
                                      const Session& session) const {
  const CachedPrompt* found = nullptr;
  size_t most = session.common_prefix(prompt) + kLeastGain - 1;
  for (const CachedPrompt& cached : cached_) {
    const SavedBeginning& beginning = cached.beginning;
    // At least one token must be left to compute: a recurrent state cannot go back by one.
    if (beginning.tokens.size() <= most || beginning.tokens.size() >= prompt.size()) continue;
    if (!fits(beginning, session) || !is_beginning_of(prompt, beginning)) continue;
    found = &cached;
    most = beginning.tokens.size();
  }
  return found;
}

bool PromptCache::restore(Session& session, std::span<const TokenId> prompt) {
  while (const CachedPrompt* cached = find(prompt, session)) {
    const std::string name = cached->name;
    const auto state = storage_.read(name);
    const Status status =
        state.ok() ? restore_state(session, state.value().bytes()) : Status(state.error());
    if (status.ok()) return true;
    const ErrorCode code = status.error().code;
    if (code == ErrorCode::out_of_memory || code == ErrorCode::unsupported_feature) return false;
    remove(name);
    storage_.reject(name, status.error().message);
  }
  return false;
}

uint32_t PromptCache::choose_place(const Session& session, uint32_t n_opening) {
  if (!is_writable()) return 0;
  const std::span<const TokenId> prompt = session.tokens();
  uint32_t n_known = 0;
  for (const CachedPrompt& cached : cached_) {
    const SavedBeginning& beginning = cached.beginning;
    if (!fits(beginning, session) || !is_beginning_of(prompt, beginning)) continue;
    n_known = std::max(n_known, static_cast<uint32_t>(beginning.tokens.size()));
  }
  uint32_t n_repeated = 0;
  for (const std::vector<TokenId>& other : recent_) {
    n_repeated = std::max(n_repeated, count_common(other, prompt));
  }
  recent_.emplace_back(prompt.begin(), prompt.end());
  if (recent_.size() > kRecentPrompts) recent_.pop_front();
  for (const uint32_t n : {n_opening, n_repeated}) {
    const bool is_new = n >= n_known + kLeastStored;
    if (is_new && n >= session.n_computed() && n < prompt.size()) return n;
  }
  return 0;
}

void PromptCache::store(const Session& session) {
  const auto state = save_computed(session);
  if (!state.ok()) return;  // the memory is needed for the answer
  const std::string name = name_of(session);
  const auto bytes = state.value().bytes();
  if (add(name, bytes).ok()) storage_.write(name, bytes);
}

}  // namespace kinglet
