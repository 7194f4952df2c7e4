#include "refactor/llm/http.h"
#include "refactor/llm/providers.h"

namespace lathe::refactor::llm {
namespace {

constexpr const char* FORMS =
    "expected openai:MODEL@URL, anthropic:MODEL, command:COMMAND, exchange:FOLDER or replay:FILE";

} // namespace

ModelAddress read_address(const std::string& text) {
  // A URL's path does not begin with a scheme again.
  const std::size_t at = text.rfind("@http");
  return {text.substr(0, at), at == std::string::npos ? "" : text.substr(at + 1)};
}

Result<std::unique_ptr<Provider>> make_provider(std::string_view text, const ProviderOptions& options) {
  const std::string what = "no model provider '" + std::string(text) + "'";
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size())
    return usage_error(what, FORMS);
  const std::string_view kind = text.substr(0, colon);
  const std::string rest(text.substr(colon + 1));
  if (kind == "command")
    return make_command_provider(rest, options);
  if (kind == "exchange")
    return make_exchange_provider(rest, options);
  if (kind == "replay")
    return make_replay_provider(rest);
  if (kind != "openai" && kind != "anthropic")
    return usage_error(what, FORMS);
  auto [model, url] = read_address(rest);
  if (kind == "anthropic" && url.empty())
    url = "https://api.anthropic.com";
  if (model.empty() || url.empty())
    return usage_error(what, FORMS);
  if (!is_plain_url(url))
    return usage_error(what, "its URL has no host, or holds a user name or password",
                       "keys are read from the environment, see docs/model.md");
  return make_chat_provider(kind == "openai" ? ChatProtocol::openai : ChatProtocol::anthropic, model, url,
                            options);
}

} // namespace lathe::refactor::llm
