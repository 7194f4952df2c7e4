#include "tuner/store/schema.h"

#include <sqlite3.h>

#include <string>
#include <string_view>

namespace lathe::store {
namespace {

constexpr std::int64_t schema_version = 2;
constexpr std::int64_t application = 0x4c617468; // "Lath": what file(1) and other tools see

constexpr std::string_view version_1[] = {
    R"(CREATE TABLE keys (
  id INTEGER PRIMARY KEY,
  kernel TEXT NOT NULL,
  template_hash TEXT NOT NULL,
  workload TEXT NOT NULL,
  device TEXT NOT NULL,
  driver TEXT NOT NULL,
  toolkit TEXT NOT NULL,
  UNIQUE (kernel, template_hash, workload, device, driver, toolkit)
))",
    R"(CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY,
  key INTEGER NOT NULL REFERENCES keys (id),
  knob_names TEXT NOT NULL,
  knobs TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  median_us REAL,
  low_us REAL,
  high_us REAL,
  samples INTEGER NOT NULL,
  stopped_early INTEGER NOT NULL,
  registers INTEGER NOT NULL,
  spill_bytes INTEGER NOT NULL,
  stack_bytes INTEGER NOT NULL,
  static_shared INTEGER NOT NULL,
  constant_bytes INTEGER NOT NULL,
  max_threads INTEGER NOT NULL,
  occupancy REAL,
  error REAL,
  compile_seconds REAL,
  run_seconds REAL,
  author TEXT NOT NULL,
  timestamp TEXT NOT NULL
))",
    "CREATE INDEX evaluations_of_key ON evaluations (key)",
    R"(CREATE TABLE winners (
  key INTEGER PRIMARY KEY REFERENCES keys (id),
  knob_names TEXT NOT NULL,
  knobs TEXT NOT NULL,
  raw_median_us REAL,
  raw_low_us REAL,
  raw_high_us REAL,
  raw_samples INTEGER NOT NULL,
  raw_stopped_early INTEGER NOT NULL,
  tuned_median_us REAL,
  tuned_low_us REAL,
  tuned_high_us REAL,
  tuned_samples INTEGER NOT NULL,
  tuned_stopped_early INTEGER NOT NULL,
  ratio REAL,
  ratio_low REAL,
  ratio_high REAL,
  noise_band REAL,
  copy_floor_us REAL,
  evaluations INTEGER NOT NULL,
  seconds REAL,
  protocol TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  lathe_version TEXT NOT NULL,
  is_host INTEGER NOT NULL,
  dimensions TEXT NOT NULL,
  role TEXT NOT NULL,
  label TEXT NOT NULL,
  types TEXT NOT NULL,
  architecture TEXT NOT NULL
))",
};

// Counters, for which version 1 had no place.
constexpr std::string_view version_2[] = {
    R"(CREATE TABLE profiles (
  id INTEGER PRIMARY KEY,
  key INTEGER NOT NULL REFERENCES keys (id),
  knob_names TEXT NOT NULL,
  knobs TEXT,
  profile TEXT NOT NULL,
  timestamp TEXT NOT NULL
))",
    "CREATE INDEX profiles_of_key ON profiles (key)",
};

} // namespace

Status check_content(const Database& database) {
  LATHE_TRY(Statement check, database.prepare("PRAGMA quick_check(1)"));
  LATHE_TRY(const bool row, check.step());
  if (const std::string verdict = row ? check.next_text() : "ok"; verdict != "ok") {
    Error error = database.error(SQLITE_CORRUPT);
    error.why = "it is corrupted (" + verdict + ")";
    return error;
  }
  return Done{};
}

Status create_or_check_schema(const Database& database) {
  const std::string what = "the results store " + database.path().string();
  LATHE_TRY(Transaction transaction, Transaction::begin(database));
  LATHE_TRY(const std::int64_t version, database.query_integer("PRAGMA user_version"));
  LATHE_TRY(const std::int64_t owner, database.query_integer("PRAGMA application_id"));
  LATHE_TRY(const std::int64_t tables, database.query_integer("SELECT count(*) FROM sqlite_schema"));
  if (owner != application && (owner != 0 || version != 0 || tables != 0))
    return Error{what, "it is a database of another program", "give another path (LATHE_RESULTS)"};
  if (version > schema_version)
    return Error{what,
                 "it was written by a newer Lathe (version " + std::to_string(version) + ", this one reads " +
                     std::to_string(schema_version) + ")",
                 "use that Lathe or give another path (LATHE_RESULTS)"};
  if (version == schema_version)
    return Done{};
  if (version < 1)
    for (const std::string_view statement : version_1)
      LATHE_CHECK(database.execute(statement));
  for (const std::string_view statement : version_2)
    LATHE_CHECK(database.execute(statement));
  LATHE_CHECK(database.execute("PRAGMA application_id = " + std::to_string(application)));
  LATHE_CHECK(database.execute("PRAGMA user_version = " + std::to_string(schema_version)));
  return transaction.commit();
}

} // namespace lathe::store
