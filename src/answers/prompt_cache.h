// Stores the states of sessions after the beginnings of prompts, so that later prompts that begin
// with the same tokens need not compute them again, in another process either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "model/model.h"
#include "session/session.h"
#include "session/state.h"

namespace kinglet {

// Where the states are: see session/state.h for their format.
class PromptStorage {
 public:
  virtual ~PromptStorage() = default;

  // Whether write() stores anything.
  virtual bool is_writable() const = 0;

  // Returns a stored state. Errors: io; out_of_memory; unsupported_feature (not while an answer
  // begins).
  virtual Result<AlignedBuffer> read(const std::string& name) = 0;

  // Stores a state, wholly or not at all, and may remove others.
  virtual void write(const std::string& name, std::span<const std::byte> state) = 0;

  // Removes a state that cannot be used; `reason` says why.
  virtual void reject(const std::string& name, std::string_view reason) = 0;
};

// The tokens of a stored state, which are the first ones of a prompt.
struct CachedPrompt {
  std::string name;  // in the storage
  SavedBeginning beginning;
};

class PromptCache {
 public:
  // Shorter beginnings are not stored, and differences that are shorter not either.
  static constexpr uint32_t kLeastStored = 256;

  // Both must outlive the cache.
  PromptCache(const Model& model, PromptStorage& storage) : model_(model), storage_(storage) {}

  // Whether more states are stored, so that choose_place() needs to know the opening.
  bool is_writable() const { return storage_.is_writable(); }

  // Adds a state that is in the storage, given its first bytes. The result is valid until the next
  // change. Errors: those of read_beginning().
  Result<const CachedPrompt*> add(const std::string& name, std::span<const std::byte> first_bytes);

  void remove(std::string_view name);

  // Returns the longest cached beginning of the prompt, if the session can have it and has less in
  // common with the prompt now; otherwise null.
  const CachedPrompt* find(std::span<const TokenId> prompt, const Session& session) const;

  // Replaces the session's context by the state that find() returns. Returns false if there is
  // none: then the session is unchanged. A state that is damaged is removed.
  bool restore(Session& session, std::span<const TokenId> prompt);

  // Returns how many first tokens of a prompt should be stored; 0: none. Those are the ones that
  // `n_opening` counts, the system messages and tools, or else those that a recent prompt began
  // with, too. Call this once for each prompt, when the session has it and computes what is left.
  uint32_t choose_place(const Session& session, uint32_t n_opening);

  // Stores the session's computed tokens.
  void store(const Session& session);

 private:
  const Model& model_;
  PromptStorage& storage_;
  std::vector<CachedPrompt> cached_;
  std::deque<std::vector<TokenId>> recent_;  // prompts, the oldest first
};

}  // namespace kinglet
