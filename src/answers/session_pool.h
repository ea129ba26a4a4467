// Sessions that share pages. The sessions of ended answers are kept, because a later prompt may
// begin with the same tokens.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "session/session.h"

namespace kinglet {

class SessionPool {
 public:
  // `store` holds the pages of all sessions; each is created with `options`. At most
  // `most_idle` sessions are kept. The model and the thread pool must outlive the pool.
  SessionPool(const Model& model, ThreadPool& threads, std::shared_ptr<KvStore> store,
              const SequenceOptions& options, size_t most_idle)
      : model_(model),
        threads_(threads),
        store_(std::move(store)),
        options_(options),
        most_idle_(most_idle) {}

  const KvStore& store() const { return *store_; }
  size_t n_idle() const { return idle_.size(); }

  // Returns a session for `prompt`, if possible one that begins with the same tokens. This is a
  // kept session, a fork of a kept session, or a fork of a session of the `running` answers.
  // Errors: out_of_memory.
  Result<std::unique_ptr<Session>> take(std::span<const TokenId> prompt,
                                        std::span<const Session* const> running);

  // Keeps a session as the newest. Destroys the oldest session if there are too many.
  void give_back(std::unique_ptr<Session> session);

  // Destroys kept sessions, the oldest first, until n_pages are free or no session is left.
  void make_room(uint32_t n_pages);

 private:
  using Idle = std::list<std::unique_ptr<Session>>;  // the oldest first

  std::unique_ptr<Session> remove(Idle::iterator place);

  const Model& model_;
  ThreadPool& threads_;
  std::shared_ptr<KvStore> store_;
  SequenceOptions options_;
  size_t most_idle_;
  Idle idle_;
};

}  // namespace kinglet
