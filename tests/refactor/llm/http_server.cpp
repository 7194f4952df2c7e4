#include "tests/refactor/llm/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace lathe::refactor::llm {
namespace {

// Headers and as many bytes of body as they announce.
std::string read_request(int client) {
  std::string request;
  char buffer[1 << 14];
  for (;;) {
    const std::size_t end = request.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t length = request.find("Content-Length: ");
      const std::size_t wanted =
          length == std::string::npos ? 0 : std::strtoul(&request[length + 16], nullptr, 10);
      if (request.size() >= end + 4 + wanted)
        return request;
    }
    const ssize_t count = ::recv(client, buffer, sizeof buffer, 0);
    if (count <= 0)
      return request;
    request.append(buffer, static_cast<std::size_t>(count));
  }
}

} // namespace

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::listen(socket_, 8);
  socklen_t length = sizeof address;
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  stopping_ = true;
  thread_.join();
  ::close(socket_);
}

std::string HttpServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

std::vector<std::string> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::serve() {
  while (!stopping_) {
    pollfd waiting{socket_, POLLIN, 0};
    if (::poll(&waiting, 1, 20) != 1)
      continue;
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0)
      continue;
    std::size_t number = 0;
    std::string request = read_request(client);
    {
      const std::lock_guard lock(mutex_);
      number = requests_.size();
      requests_.push_back(request);
    }
    handler_(number, request, [&](const std::string& bytes) {
      std::size_t sent = 0;
      while (sent < bytes.size() && !stopping_) {
        const ssize_t count = ::send(client, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count <= 0)
          return false;
        sent += static_cast<std::size_t>(count);
      }
      return !stopping_;
    });
    ::close(client);
  }
}

std::string http_reply(int status, const std::string& body, const std::string& more_headers) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Status\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + more_headers + "Connection: close\r\n\r\n" + body;
}

} // namespace lathe::refactor::llm
