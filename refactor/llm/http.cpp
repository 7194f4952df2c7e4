#include "refactor/llm/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

namespace lathe::refactor::llm {
namespace {

struct CurlCleanup {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

bool start_curl() {
  static const bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return started;
}

std::size_t append(char* data, std::size_t size, std::size_t count, void* into) {
  auto& body = *static_cast<std::string*>(into);
  if (body.size() + size * count > HTTP_BODY_LIMIT)
    return 0; // ends the transfer
  body.append(data, size * count);
  return size * count;
}

// A part of a URL; empty where it has none.
std::string part(const std::string& url, CURLUPart which) {
  const std::unique_ptr<CURLU, CurlCleanup> parsed(curl_url());
  char* text = nullptr;
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
      curl_url_get(parsed.get(), which, &text, 0) != CURLUE_OK || !text)
    return {};
  const std::string value(text);
  curl_free(text);
  return value;
}

bool is_transient_status(long status) {
  return status == 408 || status == 429 || status >= 500;
}

bool is_transient_failure(CURLcode code) {
  switch (code) {
  case CURLE_COULDNT_CONNECT:
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_GOT_NOTHING:
  case CURLE_PARTIAL_FILE:
  case CURLE_RECV_ERROR:
  case CURLE_SEND_ERROR:
    return true;
  default:
    return false;
  }
}

} // namespace

bool is_plain_url(const std::string& url) {
  const std::string scheme = part(url, CURLUPART_SCHEME);
  return (scheme == "http" || scheme == "https") && !part(url, CURLUPART_HOST).empty() &&
         part(url, CURLUPART_USER).empty() && part(url, CURLUPART_PASSWORD).empty();
}

bool is_private_channel(const std::string& url) {
  const std::string host = part(url, CURLUPART_HOST);
  return part(url, CURLUPART_SCHEME) == "https" || host == "localhost" || host == "127.0.0.1" ||
         host == "[::1]";
}

HttpReply post_json(const std::string& url, const std::vector<std::string>& headers, const std::string& body,
                    double timeout_s) {
  HttpReply reply;
  const std::unique_ptr<CURL, CurlCleanup> handle(start_curl() ? curl_easy_init() : nullptr);
  if (!handle) {
    reply.failure = "libcurl does not start";
    return reply;
  }
  std::unique_ptr<curl_slist, CurlCleanup> list;
  const auto add_header = [&](const std::string& header) {
    if (curl_slist* longer = curl_slist_append(list.get(), header.c_str())) {
      [[maybe_unused]] curl_slist* shorter = list.release();
      list.reset(longer);
    }
  };
  add_header("Content-Type: application/json");
  add_header("Expect:"); // no waiting for "100 Continue"
  for (const std::string& header : headers)
    add_header(header);

  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY,
                   is_private_channel(url) && !url.starts_with("https") ? "*" : nullptr);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list.get());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply.body);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(timeout_s * 1000)));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   std::max(1L, static_cast<long>(std::min(timeout_s, 30.0) * 1000)));
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "lathe");

  const CURLcode code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_off_t retry_after = 0;
  if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after) == CURLE_OK && retry_after > 0)
    reply.retry_after_s = static_cast<double>(retry_after);
  if (code == CURLE_WRITE_ERROR) {
    reply.failure = "the answer is longer than " + std::to_string(HTTP_BODY_LIMIT >> 20) + " MiB";
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    reply.failure = "no whole answer came in time";
    reply.timed_out = true;
  } else if (code != CURLE_OK) {
    reply.failure = curl_easy_strerror(code);
    reply.is_transient = is_transient_failure(code);
  } else {
    reply.is_transient = is_transient_status(reply.status);
  }
  return reply;
}

} // namespace lathe::refactor::llm
