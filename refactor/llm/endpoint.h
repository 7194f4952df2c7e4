// A web endpoint of a model: its key, its repeats after transient failures, its errors as one sentence.
#pragma once

#include "refactor/llm/http.h"
#include "refactor/llm/llm.h"

#include <chrono>
#include <functional>

namespace lathe::refactor::llm {

class Endpoint {
public:
  // `who` names the provider in errors. The key is read from the environment's `key_variable` for each
  // question, sent as "`key_header`KEY", and only over HTTPS or to this machine.
  Endpoint(std::string who, std::string url, const char* key_variable, std::string key_header,
           const ProviderOptions& options);

  // What is asked now; called again after `adapt`.
  using Body = std::function<std::string()>;
  // Whether the body was changed to what a server's refusal asks for.
  using Adapt = std::function<bool(const HttpReply&)>;
  using Clock = std::chrono::steady_clock;
  // When a question that is asked now has to be answered: ProviderOptions::timeout_s from now.
  Clock::time_point deadline() const;
  // The body of the first reply that is none of an error. `path` is put behind the URL unless that ends with
  // it.
  Result<std::string> post(const std::string& path, const std::vector<std::string>& headers, const Body& body,
                           const Adapt& adapt, Clock::time_point deadline) const;

  Error failed(const std::string& why) const;
  // A text of the server's for a message: one short line, without the key, which it may have repeated.
  std::string quoted(const std::string& text) const;
  const std::string& url() const { return url_; }

private:
  std::string key() const;
  std::string describe(const HttpReply& reply) const;

  std::string who_, url_;
  const char* key_variable_;
  std::string key_header_;
  ProviderOptions options_;
};

} // namespace lathe::refactor::llm
