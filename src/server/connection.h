// One client's connection, which the HTTP library reads and writes. It has a deadline for the whole
// request, even if its bytes arrive slowly, and can detect that the client has gone.
#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "server/request_head.h"

namespace kinglet::server {

class Connection : public httplib::Stream {
 public:
  // Takes ownership of the socket. The whole request must arrive within `time_to_read`.
  Connection(socket_t socket, std::chrono::seconds time_to_read);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Called when a request has arrived whose answer takes time.
  void begin_answer() { waits_ = false; }

  // Whether the client has left. A client may end its side of the connection and still wait for the
  // answer. What is sent distinguishes the two: the system of a client that has left refuses
  // it. So such a client gets an interim response (102) until the answer begins. One of HTTP/1.0,
  // which has none, counts as waiting until then. May be called on two threads while no part of the
  // answer is sent.
  bool is_gone();

  // Tells the client that the answer has ended, and waits a moment for the client to close: closing
  // a connection with unread bytes resets it, and the client may lose the answer.
  void finish();

  // The next four may be called on any thread.

  // Whether the server waits for the client: to send its request, to take a file, or to end.
  bool waits_for_client() const { return waits_; }
  // Whether the client has sent something that is not read yet.
  bool has_input() const;
  // When the client connected, or last sent or took something.
  Clock::time_point last_heard() const { return last_heard_; }
  // Ends the connection: reads and writes fail from now on.
  void drop();

  Clock::time_point begin() const { return begin_; }

  // The head of the request, once the library has read it.
  const RequestHead& head() const { return head_; }

  bool is_readable() const override { return wait_for_input(); }
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  bool wait_for_input() const;
  void read_head();
  ssize_t receive(char* to, size_t size);
  bool has_ended();
  bool is_broken() const;
  void ask_whether_gone();

  socket_t socket_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point deadline_;
  std::atomic<Clock::time_point> last_heard_ = begin_;
  std::atomic<bool> waits_ = true;
  std::mutex asking_;
  bool has_begun_ = false;   // a part of the answer was sent
  bool has_ended_ = false;   // the client sends nothing more
  bool has_failed_ = false;  // something could not be sent
  Clock::time_point next_ask_ = {};
  bool has_read_head_ = false;
  bool is_cut_ = false;  // the head is not whole, and nothing after its first line counts
  RequestHead head_;
  TrailerFilter trailers_;
  std::string buffer_;  // the library reads headers byte by byte; from next_ on it is not read yet
  size_t next_ = 0;
};

}  // namespace kinglet::server
