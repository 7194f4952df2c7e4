// A web server for one test: answers each connection by what the test says, as raw bytes.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lathe::refactor::llm {

class HttpServer {
public:
  // `send` writes bytes to the client and returns false once it has gone away. The connection ends when the
  // handler returns. `number` counts the requests from 0.
  using Send = std::function<bool(const std::string&)>;
  using Handler = std::function<void(std::size_t number, const std::string& request, const Send& send)>;

  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const;
  // Every request so far, headers and body.
  std::vector<std::string> requests() const;
  // Tells handlers that wait to end.
  bool is_stopping() const { return stopping_; }

private:
  void serve();
  Handler handler_;
  int socket_ = -1;
  unsigned port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

// A whole reply with a length.
std::string http_reply(int status, const std::string& body, const std::string& more_headers = {});

} // namespace lathe::refactor::llm
