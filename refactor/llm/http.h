// One HTTP POST of a JSON body, with a deadline and a limit on what is read.
#pragma once

#include <string>
#include <vector>

namespace lathe::refactor::llm {

struct HttpReply {
  long status = 0;           // 0: no answer came
  std::string body;          // at most HTTP_BODY_LIMIT bytes
  std::string failure;       // why there is no whole answer: one sentence; empty when there is
  bool timed_out = false;    // the deadline passed
  bool is_transient = false; // worth another try: no connection, a connection that broke, 408, 429, 5xx
  double retry_after_s = -1; // what the server asks for; -1: nothing
};

inline constexpr std::size_t HTTP_BODY_LIMIT = 8u << 20;

// `headers`: "Name: value". Follows no redirection and speaks HTTP and HTTPS only; an HTTPS server must prove
// who it is. Proxies are taken from the environment, never for this machine.
HttpReply post_json(const std::string& url, const std::vector<std::string>& headers, const std::string& body,
                    double timeout_s);

// Whether what is sent to the URL stays secret: HTTPS, or this machine.
bool is_private_channel(const std::string& url);
// Whether the text is an http or https URL with a host and without user name and password.
bool is_plain_url(const std::string& url);

} // namespace lathe::refactor::llm
