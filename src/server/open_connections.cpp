#include "server/open_connections.h"

namespace kinglet::server {

namespace {

// How long a client may take to send the next part of its request even if others wait. The first
// part of a request follows its connection at once, but maybe later than many other connections.
constexpr std::chrono::seconds kTimeToSend{1};

}  // namespace

void OpenConnections::drop_idle() {
  const auto latest = Clock::now() - kTimeToSend;
  const std::scoped_lock lock(mutex_);
  Connection* idle = nullptr;
  for (Connection* each : open_) {
    if (!each->waits_for_client() || each->last_heard() > latest || each->has_input()) continue;
    if (idle == nullptr || each->last_heard() < idle->last_heard()) idle = each;
  }
  if (idle != nullptr) idle->drop();
}

void OpenConnections::drop_waiting() {
  const std::scoped_lock lock(mutex_);
  for (Connection* each : open_) {
    if (each->waits_for_client()) each->drop();
  }
}

void OpenConnections::drop_all() {
  const std::scoped_lock lock(mutex_);
  for (Connection* each : open_) each->drop();
}

}  // namespace kinglet::server
