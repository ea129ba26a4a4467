// Sessions that share pages: those of answers that ended are kept, as the next prompt may begin
// like them.
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

namespace kinglet::server {

class SessionPool {
 public:
  // `store` holds the pages of all sessions, each with the options given; `most_idle` are kept.
  // The model and the thread pool must outlive this.
  SessionPool(const Model& model, ThreadPool& threads, std::shared_ptr<KvStore> store,
              const SessionOptions& options, size_t most_idle)
      : model_(model),
        threads_(threads),
        store_(std::move(store)),
        options_(options),
        most_idle_(most_idle) {}

  const KvStore& store() const { return *store_; }
  size_t n_idle() const { return idle_.size(); }

  // A session to begin `prompt` in: one that begins as it does, if there is one. It may be one that
  // was kept, a fork of one, or of those that `running` answers use. ErrorCode::out_of_memory.
  Result<std::unique_ptr<Session>> take(std::span<const TokenId> prompt,
                                        std::span<const Session* const> running);

  // Keeps a session, the newest of all. The oldest is given up where there are too many.
  void give_back(std::unique_ptr<Session> session);

  // Gives up sessions, the oldest first, until so many pages are free or none is left.
  void make_room(uint32_t n_pages);

 private:
  using Idle = std::list<std::unique_ptr<Session>>;  // the oldest first

  std::unique_ptr<Session> remove(Idle::iterator place);

  const Model& model_;
  ThreadPool& threads_;
  std::shared_ptr<KvStore> store_;
  SessionOptions options_;
  size_t most_idle_;
  Idle idle_;
};

}  // namespace kinglet::server
