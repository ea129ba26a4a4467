#include "server/open_connections.h"

namespace kinglet::server {

void OpenConnections::drop_idle() {
  const std::scoped_lock lock(mutex_);
  Connection* idle = nullptr;
  for (Connection* each : open_) {
    if (!each->waits_for_client() || each->has_input()) continue;
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
