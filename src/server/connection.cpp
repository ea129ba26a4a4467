#include "server/connection.h"

#include <algorithm>
#include <cstring>

#include "server/sockets.h"

namespace kinglet::server {
namespace {

// How long a client may take to receive a part of an answer.
constexpr std::chrono::seconds kTimeToWrite{10};

// How long, and how many bytes, the server still reads from a client after its answer was sent.
constexpr std::chrono::seconds kTimeToFinish{1};
constexpr size_t kBytesToFinish = size_t{1} << 26;

bool wait_for(socket_t socket, short events, Clock::duration at_most) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count();
  pollfd polled{.fd = socket, .events = events, .revents = 0};
  return poll(&polled, 1, static_cast<int>(std::max<int64_t>(left, 0))) > 0;
}

void name_address(const sockaddr_storage& address, std::string& ip, int& port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  }
  ip = text;
}

}  // namespace

Connection::Connection(socket_t socket, std::chrono::seconds time_to_read)
    : socket_(socket), deadline_(begin_ + time_to_read) {
  switch_on(socket_, IPPROTO_TCP, TCP_NODELAY);  // send each token at once
}

Connection::~Connection() { close_socket(socket_); }

bool Connection::is_gone() const {
  if (!wait_for(socket_, POLLIN, {})) return false;
  char byte = 0;
  return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void Connection::finish() {
  shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + kTimeToFinish;
  for (size_t n = 0; n < kBytesToFinish && wait_for(socket_, POLLIN, deadline - Clock::now());) {
    const ssize_t n_read = recv(socket_, buffer_, sizeof buffer_, MSG_DONTWAIT);
    if (n_read <= 0) break;
    n += static_cast<size_t>(n_read);
  }
}

bool Connection::wait_for_input() const {
  return next_ < end_ || wait_for(socket_, POLLIN, deadline_ - Clock::now());
}

bool Connection::is_writable() const { return wait_for(socket_, POLLOUT, {}) && !is_gone(); }

ssize_t Connection::read(char* to, size_t size) {
  if (!wait_for_input() || Clock::now() > deadline_) return -1;
  if (next_ == end_) {
    const ssize_t n = recv(socket_, buffer_, sizeof buffer_, 0);
    if (n <= 0) return n;
    next_ = 0;
    end_ = static_cast<size_t>(n);
  }
  const size_t n = std::min(size, end_ - next_);
  std::memcpy(to, buffer_ + next_, n);
  next_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t Connection::write(const char* from, size_t size) {
  if (!wait_for(socket_, POLLOUT, kTimeToWrite)) return -1;
  return send_some(socket_, from, size);
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size);
  name_address(address, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
  name_address(address, ip, port);
}

}  // namespace kinglet::server
