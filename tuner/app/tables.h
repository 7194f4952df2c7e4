// How results are shown: one line a workload, tables, and JSON.
#pragma once

#include "tuner/app/tuning_session.h"

#include <string>
#include <vector>

namespace lathe {

std::string_view to_string(ProblemRole role);
// "BLOCK=256 VEC=8".
std::string describe(const std::vector<std::string>& names, const KnobValues& values);

std::string summary_line(const std::string& workload, ProblemRole role, const SessionResult& result,
                         bool is_host);

// What `lathe tune -v` adds: the CPU reference, what limits the raw kernel and the winner, finalists that
// failed.
std::string details(const SessionResult& result);

// Every field of a winner; the schema's version is in "Schema".
std::string sessions_json(const std::vector<const SessionResult*>& results);
std::string winners_json(const std::vector<StoredWinner>& winners);
std::string winners_markdown(const std::vector<StoredWinner>& winners);
std::string winners_csv(const std::vector<StoredWinner>& winners);

} // namespace lathe
