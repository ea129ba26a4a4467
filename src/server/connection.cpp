#include "server/connection.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "server/sockets.h"

namespace kinglet::server {
namespace {

// How long a client may take to receive a part of an answer.
constexpr std::chrono::seconds kTimeToWrite{10};

// How long, and how many bytes, the server still reads from a client after its answer was sent.
constexpr std::chrono::seconds kTimeToFinish{1};
constexpr size_t kBytesToFinish = size_t{1} << 26;

// How often a client that sends nothing more is asked whether it has left.
constexpr std::chrono::seconds kTimeToAsk{1};

// The most bytes of a head.
constexpr size_t kMostOfHead = size_t{1} << 16;

// The bytes that are read at a time.
constexpr size_t kPieceBytes = 4096;

// The most bytes that are dropped at a time while an answer is made.
constexpr size_t kBytesToDrop = size_t{1} << 20;

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

bool Connection::is_gone() {
  const std::scoped_lock lock(asking_);
  if (is_broken()) return true;
  if (!has_ended()) return false;
  if (has_begun_ || head_.is_http_1_0()) return false;  // the next part of the answer tells
  ask_whether_gone();
  return has_failed_;
}

// Whether the client sends nothing more. Drops what it sends after its request, because the end
// comes after that.
bool Connection::has_ended() {
  char dropped[4096];
  for (size_t n = 0; !has_ended_ && n < kBytesToDrop && wait_for(socket_, POLLIN, {});) {
    const ssize_t n_read = recv(socket_, dropped, sizeof dropped, MSG_DONTWAIT);
    has_ended_ = n_read == 0;
    if (n_read <= 0) break;
    n += static_cast<size_t>(n_read);
  }
  return has_ended_;
}

// Whether the client's system has refused something that was sent.
bool Connection::is_broken() const {
  pollfd polled{.fd = socket_, .events = 0, .revents = 0};
  return has_failed_ || (poll(&polled, 1, 0) > 0 && (polled.revents & (POLLERR | POLLNVAL)) != 0);
}

void Connection::ask_whether_gone() {
  if (Clock::now() < next_ask_) return;
  next_ask_ = Clock::now() + kTimeToAsk;
  constexpr std::string_view kProcessing = "HTTP/1.1 102 Processing\r\n\r\n";
  has_failed_ = !wait_for(socket_, POLLOUT, {}) ||
                send_some(socket_, kProcessing.data(), kProcessing.size()) !=
                    static_cast<ssize_t>(kProcessing.size());
}

bool Connection::has_input() const { return wait_for(socket_, POLLIN, {}); }

void Connection::drop() {
  waits_ = false;
  shutdown(socket_, SHUT_RDWR);
}

void Connection::finish() {
  shutdown(socket_, SHUT_WR);
  waits_ = true;
  const auto deadline = Clock::now() + kTimeToFinish;
  for (size_t n = 0; n < kBytesToFinish && wait_for(socket_, POLLIN, deadline - Clock::now());) {
    char dropped[kPieceBytes];
    const ssize_t n_read = recv(socket_, dropped, sizeof dropped, MSG_DONTWAIT);
    if (n_read <= 0) break;
    n += static_cast<size_t>(n_read);
  }
}

bool Connection::wait_for_input() const {
  return next_ < buffer_.size() || wait_for(socket_, POLLIN, deadline_ - Clock::now());
}

// The library asks before each piece of an answer, from version 0.12 on, and gives up otherwise.
bool Connection::is_writable() const {
  return wait_for(socket_, POLLOUT, kTimeToWrite) && !is_broken();
}

ssize_t Connection::read(char* to, size_t size) {
  if (!has_read_head_) read_head();
  while (next_ == buffer_.size()) {
    if (is_cut_) return 0;
    buffer_.resize(kPieceBytes);
    const ssize_t n = receive(buffer_.data(), buffer_.size());
    next_ = 0;
    buffer_.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n <= 0) return n;
    if (head_.is_chunked()) buffer_.resize(trailers_.filter(buffer_.data(), buffer_.size()));
  }
  const size_t n = std::min(size, buffer_.size() - next_);
  std::memcpy(to, buffer_.data() + next_, n);
  next_ += n;
  return static_cast<ssize_t>(n);
}

// Reads the whole head, and what arrives with it. The library reads anything that is not a head.
// If a head is cut or too long, the library gets its first line and refuses the request.
void Connection::read_head() {
  has_read_head_ = true;
  constexpr std::string_view kEnd = "\n\r\n";
  std::string text;
  size_t end = text.npos;
  while (end == text.npos && text.size() < kMostOfHead && may_be_head(text)) {
    char piece[kPieceBytes];
    const ssize_t n = receive(piece, sizeof piece);
    if (n <= 0) break;
    const size_t from = text.size() - std::min(text.size(), kEnd.size());
    text.append(piece, static_cast<size_t>(n));
    end = text.find(kEnd, from);
  }
  if (end == text.npos) {
    is_cut_ = may_be_head(text);
    if (is_cut_) text.resize(std::min(text.find('\n'), text.size() - 1) + 1);
    buffer_ = std::move(text);
    return;
  }
  end += kEnd.size();
  head_ = RequestHead(std::string_view(text).substr(0, end));
  if (head_.is_chunked()) {
    text.resize(end + trailers_.filter(text.data() + end, text.size() - end));
  }
  buffer_ = head_.for_library() + text.substr(end);
}

// Waits for bytes of the request. Returns their number: 0 at their end, -1 if it took too long.
ssize_t Connection::receive(char* to, size_t size) {
  if (!wait_for(socket_, POLLIN, deadline_ - Clock::now()) || Clock::now() > deadline_) return -1;
  const ssize_t n = recv(socket_, to, size, 0);
  if (n > 0) last_heard_ = Clock::now();
  return n;
}

ssize_t Connection::write(const char* from, size_t size) {
  if (!waits_) has_begun_ = true;
  const ssize_t n = wait_for(socket_, POLLOUT, kTimeToWrite) ? send_some(socket_, from, size) : -1;
  if (n < 0) {
    has_failed_ = true;
  } else {
    last_heard_ = Clock::now();
  }
  return n;
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
