#include "refactor/app/model_seat.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

namespace fs = std::filesystem;

ModelSeat ModelSeat::take(std::unique_ptr<llm::Provider> provider, const ModelOptions& options,
                          const ModelSpending& spent, const fs::path& folder, const std::string& stem) {
  ModelSeat seat;
  seat.budget_ = options.budget;
  seat.before_ = spent;
  llm::Budget left = options.budget;
  if (left.calls)
    *left.calls -= spent.calls;
  if (left.tokens)
    *left.tokens -= spent.tokens;
  if (left.money)
    *left.money -= spent.money;
  const fs::path first =
      options.transcript.empty() ? folder / (stem + "-1.json") : fs::path(options.transcript);
  const std::string name = options.transcript.empty() ? stem : first.stem().string();
  fs::path keep_at = first;
  std::error_code failure;
  for (int sitting = 2; fs::exists(keep_at, failure); ++sitting)
    keep_at = first.parent_path() / fmt::format("{}-{}{}", name, sitting, first.extension().string());
  seat.conversation_ = std::make_unique<llm::Conversation>(std::move(provider), left, keep_at);
  return seat;
}

ModelSpending ModelSeat::spent() const {
  const llm::Ledger& ledger = conversation_->ledger();
  return {before_.calls + static_cast<int>(ledger.calls()), before_.tokens + ledger.tokens(),
          before_.money + ledger.money()};
}

std::optional<std::string> ModelSeat::is_spent(const std::string& who) const {
  const ModelSpending all = spent();
  if ((budget_.calls && all.calls >= *budget_.calls) || (budget_.tokens && all.tokens >= *budget_.tokens) ||
      (budget_.money && all.money >= *budget_.money))
    return fmt::format("the budget of {} is spent: {} call{}, {} tokens{}", who, all.calls,
                       all.calls == 1 ? "" : "s", all.tokens,
                       budget_.price ? fmt::format(", money {:.4f}", all.money) : "");
  return std::nullopt;
}

std::optional<std::string> ModelSeat::is_silent(std::size_t patience) const {
  const auto& turns = conversation_->transcript().turns;
  const auto last = static_cast<std::ptrdiff_t>(patience);
  if (turns.size() < patience ||
      std::any_of(turns.end() - last, turns.end(), [](const llm::Turn& turn) { return turn.answer; }))
    return std::nullopt;
  return turns.back().error;
}

} // namespace lathe::refactor
