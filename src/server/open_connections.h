// The open connections. Those that keep the server waiting can be dropped.
#pragma once

#include <mutex>
#include <set>

#include "server/connection.h"

namespace kinglet::server {

class OpenConnections {
 public:
  // Makes the connection known while the object exists.
  class Known {
   public:
    Known(OpenConnections& all, Connection& connection) : all_(all), connection_(connection) {
      const std::scoped_lock lock(all_.mutex_);
      all_.open_.insert(&connection_);
    }
    ~Known() {
      const std::scoped_lock lock(all_.mutex_);
      all_.open_.erase(&connection_);
    }
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;

   private:
    OpenConnections& all_;
    Connection& connection_;
  };

  bool empty() {
    const std::scoped_lock lock(mutex_);
    return open_.empty();
  }

  // Drops the connection that has heard nothing from its client for longest, and for a moment at
  // least, among those that wait for their clients and have nothing to read. Does nothing if there
  // is none.
  void drop_idle();

  // Drops all that wait for their clients.
  void drop_waiting();

  // Drops all.
  void drop_all();

 private:
  std::mutex mutex_;
  std::set<Connection*> open_;
};

}  // namespace kinglet::server
