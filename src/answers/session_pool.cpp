#include "answers/session_pool.h"

#include <algorithm>

namespace kinglet {
namespace {

// The number of tokens that the session has computed and that `prompt` begins with too.
size_t shared_tokens(const Session& session, std::span<const TokenId> prompt) {
  return count_common(session.tokens().first(session.n_computed()), prompt);
}

}  // namespace

Result<std::unique_ptr<Session>> SessionPool::take(std::span<const TokenId> prompt,
                                                   std::span<const Session* const> running) {
  const size_t page = store_->config().page_positions;
  size_t most = page - 1;  // fewer common tokens are not worth a fork
  const Session* donor = nullptr;
  for (const Session* session : running) {
    const size_t n = shared_tokens(*session, prompt);
    if (n > most) {
      most = n;
      donor = session;
    }
  }
  auto kept = idle_.end();
  for (auto place = idle_.begin(); place != idle_.end(); ++place) {
    const size_t n = shared_tokens(**place, prompt);
    if (n < most || (n == most && donor != nullptr)) continue;
    most = n;
    kept = place;
  }
  if (kept != idle_.end()) {
    // If the prompt continues the session, take the session itself: less than a page of what it
    // holds is lost.
    const bool is_continued = (*kept)->n_positions() < most + page;
    if (is_continued) return remove(kept);
    return (*kept)->fork();
  }
  if (donor != nullptr) return donor->fork();
  if (idle_.size() >= most_idle_ && !idle_.empty()) return remove(idle_.begin());
  return Session::create_in(store_, model_, threads_, options_);
}

void SessionPool::give_back(std::unique_ptr<Session> session) {
  idle_.push_back(std::move(session));
  while (idle_.size() > most_idle_) idle_.pop_front();
}

void SessionPool::make_room(uint32_t n_pages) {
  while (!idle_.empty() && store_->n_free() < n_pages) idle_.pop_front();
}

std::unique_ptr<Session> SessionPool::remove(Idle::iterator place) {
  std::unique_ptr<Session> session = std::move(*place);
  idle_.erase(place);
  return session;
}

}  // namespace kinglet
