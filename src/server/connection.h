// One client's connection, as the HTTP library reads and writes it: with a deadline for all of a
// request, however slowly it drips, and a way to see that the client has gone.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "server/job.h"

namespace kinglet::server {

class Connection : public httplib::Stream {
 public:
  // Takes over the socket. The request must have arrived within that time.
  Connection(socket_t socket, std::chrono::seconds time_to_read);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The client has closed the connection.
  bool is_gone() const;

  // Tells the client that the answer has ended, and waits a moment for it to close: a connection
  // that is closed with bytes unread takes the answer back.
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
  char buffer_[4096] = {};  // [next_, end_) is not read yet: headers are read byte by byte
  size_t next_ = 0;
  size_t end_ = 0;
};

}  // namespace kinglet::server
