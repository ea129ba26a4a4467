// The system's sockets under POSIX's names, which are mostly those of winsock, too.
#pragma once

#include <httplib.h>  // socket_t, and winsock's headers in the right order

#if !defined(_WIN32)
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <climits>
#include <cstddef>

namespace kinglet::server {

#if defined(_WIN32)

constexpr int MSG_DONTWAIT = 0;  // recv() is called only after poll() has found input
constexpr int SHUT_WR = SD_SEND;
constexpr int SHUT_RDWR = SD_BOTH;

// SO_REUSEADDR would let two servers share a port on Windows.
constexpr int kOwnPort = SO_EXCLUSIVEADDRUSE;

inline int poll(pollfd* polled, unsigned n, int at_most_ms) {
  return WSAPoll(polled, n, at_most_ms);
}
inline ssize_t send_some(socket_t socket, const char* from, size_t size) {
  return send(socket, from, static_cast<int>(std::min<size_t>(size, INT_MAX)), 0);
}
inline void close_socket(socket_t socket) { closesocket(socket); }

#else

// Not SO_REUSEPORT: two servers could share a port unnoticed.
constexpr int kOwnPort = SO_REUSEADDR;

inline ssize_t send_some(socket_t socket, const char* from, size_t size) {
  return send(socket, from, size, MSG_NOSIGNAL);
}
inline void close_socket(socket_t socket) { close(socket); }

#endif

inline void switch_on(socket_t socket, int level, int option) {
  const int yes = 1;
  setsockopt(socket, level, option, reinterpret_cast<const char*>(&yes), sizeof yes);
}

}  // namespace kinglet::server
