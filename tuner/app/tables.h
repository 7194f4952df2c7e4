// How a search is shown while and after it ran: one line a workload, and JSON.
#pragma once

#include "tuner/app/general_configuration.h"
#include "tuner/app/tuning_session.h"
#include "tuner/report/report.h"

#include <string>
#include <vector>

namespace lathe {

std::string summary_line(const std::string& workload, ProblemRole role, const SessionResult& result,
                         bool is_host);

// What `lathe tune -v` adds: the CPU reference, what limits the raw kernel and the winner, finalists that
// failed.
std::string details(const SessionResult& result);

// Every field of each winner and of its search; the schema's version is in "Schema".
std::string sessions_json(const std::vector<const SessionResult*>& results,
                          const std::vector<GeneralConfiguration>& general);

} // namespace lathe
