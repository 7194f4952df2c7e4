// A language model's seat in one `lathe optimize` run: its conversation, kept as it comes, within what is
// left of its budget.
#pragma once

#include "refactor/app/history.h"
#include "refactor/app/model_options.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace lathe::refactor {

class ModelSeat {
public:
  // `spent`: by the sittings before this one; the budget is the run's. The transcript is FOLDER/STEM-1.json
  // where the options name none; a later sitting writes one of its own with its number, so that no word is
  // lost.
  static ModelSeat take(std::unique_ptr<llm::Provider> provider, const ModelOptions& options,
                        const ModelSpending& spent, const std::filesystem::path& folder,
                        const std::string& stem);

  llm::Conversation& conversation() { return *conversation_; }
  // Of all sittings.
  ModelSpending spent() const;
  // "the budget of the model is spent: ..."; nothing where another question may be asked. `who`: "the model".
  std::optional<std::string> is_spent(const std::string& who) const;
  // The error of the last question where the last `patience` questions had no answer.
  std::optional<std::string> is_silent(std::size_t patience) const;

private:
  llm::Budget budget_; // of the run
  ModelSpending before_;
  std::unique_ptr<llm::Conversation> conversation_;
};

} // namespace lathe::refactor
