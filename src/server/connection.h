// One client's connection, which the HTTP library reads and writes. It has a deadline for the whole
// request, even if its bytes arrive slowly, and can tell that the client has gone.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "server/job.h"

namespace kinglet::server {

class Connection : public httplib::Stream {
 public:
  // Takes ownership of the socket. The whole request must arrive within `time_to_read`.
  Connection(socket_t socket, std::chrono::seconds time_to_read);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Whether the client has closed the connection.
  bool is_gone() const;

  // Tells the client that the answer has ended, and waits a moment for the client to close: closing
  // a connection with unread bytes resets it, and the client may lose the answer.
  void finish();

  Clock::time_point begin() const { return begin_; }

  bool is_readable() const override { return wait_for_input(); }
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  bool wait_for_input() const;

  socket_t socket_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point deadline_;
  char buffer_[4096] = {};  // the library reads headers byte by byte; [next_, end_) is not read yet
  size_t next_ = 0;
  size_t end_ = 0;
};

}  // namespace kinglet::server
