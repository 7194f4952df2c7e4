// Tables, data and the plot of an ablation.
#pragma once

#include "refactor/agents/ablation.h"
#include "refactor/app/baselines.h"

namespace lathe::refactor {

// The table of kernels always has PyTorch's two columns; `baselines` may be empty or of another device.
std::string ablation_markdown(const agents::AblationResult& result, const Baselines& baselines,
                              const std::string& command);
nlohmann::ordered_json ablation_json(const agents::AblationResult& result, const Baselines& baselines);
// Best over optimum against attempts, median over kernels and seeds.
std::string ablation_svg(const agents::AblationResult& result);

} // namespace lathe::refactor
