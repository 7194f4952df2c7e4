#include "refactor/llm/endpoint.h"

#include "refactor/llm/answer_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

namespace lathe::refactor::llm {
namespace {

using Json = nlohmann::ordered_json;

double seconds_until(Endpoint::Clock::time_point end) {
  return std::chrono::duration<double>(end - Endpoint::Clock::now()).count();
}

} // namespace

Endpoint::Endpoint(std::string who, std::string url, const char* key_variable, std::string key_header,
                   const ProviderOptions& options)
    : who_(std::move(who)), url_(std::move(url)), key_variable_(key_variable),
      key_header_(std::move(key_header)), options_(options) {
  while (url_.ends_with('/'))
    url_.pop_back();
}

Endpoint::Clock::time_point Endpoint::deadline() const {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.timeout_s));
}

Result<std::string> Endpoint::post(const std::string& path, const std::vector<std::string>& headers,
                                   const Body& body, const Adapt& adapt, Clock::time_point deadline) const {
  std::vector<std::string> lines = headers;
  if (const std::string secret = key(); !secret.empty())
    lines.push_back(key_header_ + secret);
  const std::string address = url_.ends_with(path) ? url_ : url_ + path;
  double pause = options_.retry_pause_s;
  for (int repeats = 0;;) {
    HttpReply reply = post_json(address, lines, body(), std::max(0.001, seconds_until(deadline)));
    if (reply.failure.empty() && reply.status >= 200 && reply.status < 300)
      return std::move(reply.body);
    if (adapt(reply))
      continue;
    const std::string why = describe(reply);
    if (!reply.is_transient || repeats == options_.retries)
      return failed(repeats ? fmt::format("{} ({} repeats)", why, repeats) : why);
    const double wait = reply.retry_after_s >= 0 ? reply.retry_after_s : pause;
    if (wait >= seconds_until(deadline))
      return failed(
          fmt::format("{}; the next try would come after {:.0f} s, past the time limit", why, wait));
    std::this_thread::sleep_for(std::chrono::duration<double>(wait));
    pause *= 2;
    ++repeats;
  }
}

Error Endpoint::failed(const std::string& why) const {
  return {"no answer from " + who_, why, "see docs/model.md"};
}

std::string Endpoint::key() const {
  const char* value = std::getenv(key_variable_);
  return value && is_private_channel(url_) ? value : "";
}

std::string Endpoint::quoted(const std::string& text) const {
  const std::string secret = key();
  std::string shown = text;
  for (std::size_t at; !secret.empty() && (at = shown.find(secret)) != std::string::npos;)
    shown.replace(at, secret.size(), "(key)");
  return excerpt(shown);
}

std::string Endpoint::describe(const HttpReply& reply) const {
  if (!reply.failure.empty())
    return reply.failure + (reply.timed_out ? fmt::format(" ({:.0f} s)", options_.timeout_s) : "");
  std::string message;
  const Json json = Json::parse(reply.body, nullptr, false);
  if (json.is_object() && json.contains("error")) {
    const Json& error = json["error"];
    if (error.is_object() && error.contains("message") && error["message"].is_string())
      message = error["message"].get<std::string>();
    else if (error.is_string())
      message = error.get<std::string>();
  }
  message = quoted(message.empty() ? reply.body : message);
  const bool lacks_key = (reply.status == 401 || reply.status == 403) && key().empty();
  return fmt::format("HTTP status {}{}{}{}", reply.status, message.empty() ? "" : ": ", message,
                     lacks_key ? " (no key was sent: none is set, or the connection is not private)" : "");
}

} // namespace lathe::refactor::llm
