// The kinds of providers that make_provider() chooses from.
#pragma once

#include "refactor/llm/llm.h"

namespace lathe::refactor::llm {

enum class ChatProtocol { openai, anthropic };

std::unique_ptr<Provider> make_chat_provider(ChatProtocol protocol, std::string model, const std::string& url,
                                             const ProviderOptions& options);
// Weighs continuations by completions that echo their prompt.
std::unique_ptr<Provider> make_echo_provider(std::string model, const std::string& url,
                                             const ProviderOptions& options);
std::unique_ptr<Provider> make_command_provider(std::string command, const ProviderOptions& options);
std::unique_ptr<Provider> make_exchange_provider(std::filesystem::path folder,
                                                 const ProviderOptions& options);
Result<std::unique_ptr<Provider>> make_replay_provider(const std::filesystem::path& file);

// "MODEL@URL" in parts; a model's name may hold '@'. `url`: empty where none is given.
struct ModelAddress {
  std::string model, url;
};
ModelAddress read_address(const std::string& text);

} // namespace lathe::refactor::llm
