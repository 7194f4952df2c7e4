// Tables, data and the plot of an ablation.
#pragma once

#include "refactor/agents/ablation.h"

namespace lathe::refactor {

std::string ablation_markdown(const agents::AblationResult& result, const std::string& command);
nlohmann::ordered_json ablation_json(const agents::AblationResult& result);
// Best over optimum against attempts, median over kernels and seeds.
std::string ablation_svg(const agents::AblationResult& result);

} // namespace lathe::refactor
