#include "tuner/store/store.h"

#include "tuner/base/timestamp.h"
#include "tuner/store/database.h"
#include "tuner/store/schema.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

namespace lathe {

using store::Database;
using store::Statement;
using store::Transaction;

namespace {

using nlohmann::json;

constexpr const char* RAW_KERNEL = "raw"; // in the place of a profile's knobs

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string knobs_text(const KnobValues& knobs) {
  json list = json::array();
  for (const Value& value : knobs)
    std::visit([&](const auto& held) { list.push_back(held); }, value);
  return dump(list);
}

// What this program wrote; a fault here means that the file was changed by something else.
class TextReader {
public:
  explicit TextReader(const Database& database) : database_(database) {}

  Result<KnobValues> knobs(const std::string& text) const {
    return parsed<KnobValues>(text, [](const json& list) {
      KnobValues values;
      for (const json& value : list) {
        if (value.is_boolean())
          values.emplace_back(value.get<bool>());
        else if (value.is_number_integer())
          values.emplace_back(value.get<std::int64_t>());
        else if (value.is_number())
          values.emplace_back(value.get<double>());
        else
          values.emplace_back(value.get<std::string>());
      }
      return values;
    });
  }

  template <class T> Result<T> as(const std::string& text) const {
    return parsed<T>(text, [](const json& value) { return value.get<T>(); });
  }

  Error unexpected(const std::string& text) const {
    return {"the results store " + database_.path().string(),
            "it holds '" + text.substr(0, 80) + "', which Lathe does not write",
            "set the file aside and run again"};
  }

private:
  template <class T, class Convert> Result<T> parsed(const std::string& text, Convert convert) const {
    try {
      return convert(json::parse(text));
    } catch (const json::exception&) {
      return unexpected(text);
    }
  }

  const Database& database_;
};

void bind(Statement& statement, const StoreKey& key) {
  statement.text(key.kernel)
      .text(key.template_hash)
      .text(key.workload)
      .text(key.device)
      .text(key.driver)
      .text(key.toolkit);
}

void bind(Statement& statement, const Timing& timing) {
  statement.real(timing.median_us).real(timing.low_us).real(timing.high_us);
  statement.integer(timing.samples).integer(timing.stopped_early);
}

Timing next_timing(Statement& statement) {
  Timing timing;
  timing.median_us = statement.next_real();
  timing.low_us = statement.next_real();
  timing.high_us = statement.next_real();
  timing.samples = static_cast<int>(statement.next_integer());
  timing.stopped_early = statement.next_integer() != 0;
  return timing;
}

StoreKey next_key(Statement& statement) {
  StoreKey key;
  for (std::string* field :
       {&key.kernel, &key.template_hash, &key.workload, &key.device, &key.driver, &key.toolkit})
    *field = statement.next_text();
  return key;
}

std::string_view to_string(ProblemRole role) {
  return role == ProblemRole::tune ? "tune" : role == ProblemRole::select ? "select" : "report";
}

ProblemRole parse_role(std::string_view text) {
  return text == "tune" ? ProblemRole::tune : text == "select" ? ProblemRole::select : ProblemRole::report;
}

class SqliteStore final : public Store {
public:
  explicit SqliteStore(Database database) : database_(std::move(database)), reader_(database_) {}

  Status record_all(const StoreKey& key, const std::vector<std::string>& knob_names,
                    std::span<const StoredEvaluation> evaluations) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(database_));
    LATHE_TRY(const std::int64_t id, key_id(key));
    const std::string names = dump(json(knob_names));
    for (const StoredEvaluation& evaluation : evaluations)
      LATHE_CHECK(insert(id, names, evaluation));
    return transaction.commit();
  }

  Result<std::vector<StoredEvaluation>> evaluations(const StoreKey& key) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement select,
              database_.prepare(
                  "SELECT knob_names, knobs, outcome, reason, median_us, low_us, high_us, samples, "
                  "stopped_early, registers, spill_bytes, stack_bytes, static_shared, constant_bytes, "
                  "max_threads, occupancy, error, compile_seconds, run_seconds, author, timestamp FROM "
                  "evaluations WHERE key = (SELECT id FROM keys WHERE kernel = ? AND template_hash = ? "
                  "AND workload = ? AND device = ? AND driver = ? AND toolkit = ?) ORDER BY id"));
    bind(select, key);
    std::vector<StoredEvaluation> evaluations;
    while (true) {
      LATHE_TRY(const bool row, select.step());
      if (!row)
        return evaluations;
      LATHE_TRY(StoredEvaluation evaluation, next_evaluation(select));
      evaluations.push_back(std::move(evaluation));
    }
  }

  Status record_winner(const StoredWinner& winner) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(database_));
    LATHE_TRY(const std::int64_t id, key_id(winner.key));
    LATHE_TRY(Statement insert,
              database_.prepare("INSERT OR REPLACE INTO winners VALUES "
                                "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
    insert.integer(id).text(dump(json(winner.knob_names))).text(knobs_text(winner.knobs));
    const Comparison& comparison = winner.comparison;
    bind(insert, comparison.raw);
    bind(insert, comparison.tuned);
    for (const double number : {comparison.ratio, comparison.ratio_low, comparison.ratio_high,
                                comparison.noise_band, winner.copy_floor_us})
      insert.real(number);
    insert.integer(winner.evaluations).real(winner.seconds).text(winner.protocol);
    insert.text(winner.timestamp.empty() ? utc_now() : winner.timestamp).text(winner.lathe_version);
    insert.integer(winner.is_host).text(dump(json(winner.problem.dimensions)));
    insert.text(to_string(winner.problem.role))
        .text(winner.problem.label)
        .text(dump(json(winner.types)))
        .text(winner.architecture);
    LATHE_CHECK(insert.run());
    return transaction.commit();
  }

  Result<std::vector<StoredWinner>> winners(const std::string& kernel) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(
        Statement select,
        database_.prepare("SELECT kernel, template_hash, workload, device, driver, toolkit, winners.* FROM "
                          "winners JOIN keys ON keys.id = winners.key WHERE kernel = ? ORDER BY keys.id"));
    select.text(kernel);
    std::vector<StoredWinner> winners;
    while (true) {
      LATHE_TRY(const bool row, select.step());
      if (!row)
        return winners;
      LATHE_TRY(StoredWinner winner, next_winner(select));
      winners.push_back(std::move(winner));
    }
  }

  Status record_profile(const StoreKey& key, const StoredProfile& profile) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Transaction transaction, Transaction::begin(database_));
    LATHE_TRY(const std::int64_t id, key_id(key));
    LATHE_TRY(Statement insert, database_.prepare("INSERT INTO profiles (key, knob_names, knobs, profile, "
                                                  "timestamp) VALUES (?,?,?,?,?)"));
    insert.integer(id).text(dump(json(profile.knob_names)));
    insert.text(profile.knobs ? knobs_text(*profile.knobs) : RAW_KERNEL).text(profile_json(profile.profile));
    insert.text(profile.timestamp.empty() ? utc_now() : profile.timestamp);
    LATHE_CHECK(insert.run());
    return transaction.commit();
  }

  Result<std::vector<StoredProfile>> profiles(const StoreKey& key) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement select,
              database_.prepare(
                  "SELECT knob_names, knobs, profile, timestamp FROM profiles WHERE key = (SELECT id FROM "
                  "keys WHERE kernel = ? AND template_hash = ? AND workload = ? AND device = ? AND "
                  "driver = ? AND toolkit = ?) ORDER BY id"));
    bind(select, key);
    std::vector<StoredProfile> profiles;
    while (true) {
      LATHE_TRY(const bool row, select.step());
      if (!row)
        return profiles;
      StoredProfile profile;
      LATHE_TRY(profile.knob_names, reader_.as<std::vector<std::string>>(select.next_text()));
      if (const std::string knobs = select.next_text(); knobs != RAW_KERNEL) {
        LATHE_TRY(profile.knobs, reader_.knobs(knobs));
      }
      const std::string text = select.next_text();
      const std::optional<Profile> parsed = parse_profile_json(text);
      if (!parsed)
        return reader_.unexpected(text);
      profile.profile = *parsed;
      profile.timestamp = select.next_text();
      profiles.push_back(std::move(profile));
    }
  }

  Result<std::vector<StoreKey>> keys(const std::string& kernel) override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement select,
              database_.prepare("SELECT kernel, template_hash, workload, device, driver, toolkit "
                                "FROM keys WHERE kernel = ? ORDER BY id"));
    select.text(kernel);
    std::vector<StoreKey> keys;
    while (true) {
      LATHE_TRY(const bool row, select.step());
      if (!row)
        return keys;
      keys.push_back(next_key(select));
    }
  }

  Result<std::vector<std::string>> kernels() override {
    const std::lock_guard lock(mutex_);
    LATHE_TRY(Statement select,
              database_.prepare("SELECT kernel FROM keys GROUP BY kernel ORDER BY min(id)"));
    std::vector<std::string> names;
    while (true) {
      LATHE_TRY(const bool row, select.step());
      if (!row)
        return names;
      names.push_back(select.next_text());
    }
  }

private:
  // One evaluation of the key with this id.
  Status insert(std::int64_t key, const std::string& knob_names, const StoredEvaluation& evaluation) {
    LATHE_TRY(Statement insert,
              database_.prepare(
                  "INSERT INTO evaluations (key, knob_names, knobs, outcome, reason, median_us, low_us, "
                  "high_us, samples, stopped_early, registers, spill_bytes, stack_bytes, static_shared, "
                  "constant_bytes, max_threads, occupancy, error, compile_seconds, run_seconds, author, "
                  "timestamp) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
    const Measurement& measured = evaluation.measurement;
    insert.integer(key).text(knob_names).text(knobs_text(evaluation.knobs));
    insert.text(lathe::to_string(measured.outcome)).text(measured.reason);
    bind(insert, measured.timing);
    const KernelResources& resources = measured.resources;
    for (const int number : {resources.registers, resources.spill_bytes, resources.stack_bytes,
                             resources.static_shared, resources.constant_bytes, resources.max_threads})
      insert.integer(number);
    for (const double number :
         {measured.occupancy, measured.error, measured.compile_seconds, measured.run_seconds})
      insert.real(number);
    insert.text(evaluation.author).text(evaluation.timestamp.empty() ? utc_now() : evaluation.timestamp);
    return insert.run();
  }

  Result<std::int64_t> key_id(const StoreKey& key) {
    LATHE_TRY(Statement select,
              database_.prepare("SELECT id FROM keys WHERE kernel = ? AND template_hash = ? AND "
                                "workload = ? AND device = ? AND driver = ? AND toolkit = ?"));
    bind(select, key);
    LATHE_TRY(const bool found, select.step());
    if (found)
      return select.next_integer();
    LATHE_TRY(Statement insert,
              database_.prepare("INSERT INTO keys (kernel, template_hash, workload, device, driver, "
                                "toolkit) VALUES (?,?,?,?,?,?)"));
    bind(insert, key);
    LATHE_CHECK(insert.run());
    return database_.last_row();
  }

  Result<StoredEvaluation> next_evaluation(Statement& row) const {
    StoredEvaluation evaluation;
    LATHE_TRY(evaluation.knob_names, reader_.as<std::vector<std::string>>(row.next_text()));
    LATHE_TRY(evaluation.knobs, reader_.knobs(row.next_text()));
    Measurement& measured = evaluation.measurement;
    const std::string outcome = row.next_text();
    const auto known = parse_outcome(outcome);
    if (!known)
      return reader_.unexpected(outcome);
    measured.outcome = *known;
    measured.reason = row.next_text();
    measured.timing = next_timing(row);
    KernelResources& resources = measured.resources;
    for (int* number : {&resources.registers, &resources.spill_bytes, &resources.stack_bytes,
                        &resources.static_shared, &resources.constant_bytes, &resources.max_threads})
      *number = static_cast<int>(row.next_integer());
    for (double* number :
         {&measured.occupancy, &measured.error, &measured.compile_seconds, &measured.run_seconds})
      *number = row.next_real();
    evaluation.author = row.next_text();
    evaluation.timestamp = row.next_text();
    return evaluation;
  }

  Result<StoredWinner> next_winner(Statement& row) const {
    StoredWinner winner;
    winner.key = next_key(row);
    row.next_integer(); // the key's number
    LATHE_TRY(winner.knob_names, reader_.as<std::vector<std::string>>(row.next_text()));
    LATHE_TRY(winner.knobs, reader_.knobs(row.next_text()));
    Comparison& comparison = winner.comparison;
    comparison.raw = next_timing(row);
    comparison.tuned = next_timing(row);
    for (double* number : {&comparison.ratio, &comparison.ratio_low, &comparison.ratio_high,
                           &comparison.noise_band, &winner.copy_floor_us})
      *number = row.next_real();
    winner.evaluations = static_cast<int>(row.next_integer());
    winner.seconds = row.next_real();
    winner.protocol = row.next_text();
    winner.timestamp = row.next_text();
    winner.lathe_version = row.next_text();
    winner.is_host = row.next_integer() != 0;
    LATHE_TRY(winner.problem.dimensions, (reader_.as<std::map<std::string, std::int64_t>>(row.next_text())));
    winner.problem.role = parse_role(row.next_text());
    winner.problem.label = row.next_text();
    LATHE_TRY(winner.types, (reader_.as<std::map<std::string, std::string>>(row.next_text())));
    winner.architecture = row.next_text();
    return winner;
  }

  std::mutex mutex_;
  Database database_;
  TextReader reader_;
};

} // namespace

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& path) {
  const std::string what = "the results store " + path.string();
  std::error_code failure;
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), failure);
    if (failure)
      return Error{what, "its folder cannot be created (" + failure.message() + ")",
                   "set LATHE_RESULTS to a path in a folder that can be written"};
  }
  if (std::filesystem::is_directory(path, failure))
    return Error{what, "it is a folder", "give the path of a file"};
  LATHE_TRY(Database database, Database::open(path));
  // SQLite would find out with the first result: it needs a journal beside the file.
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (database.is_read_only() || ::access(folder.c_str(), W_OK) != 0)
    return Error{what, "it is read-only",
                 "make the file and its folder writable, or copy it and set LATHE_RESULTS"};
  LATHE_CHECK(store::check_content(database));
  // Both are the defaults; but a file that another tool gave a write-ahead log keeps it until told otherwise.
  LATHE_CHECK(database.execute("PRAGMA journal_mode = DELETE"));
  LATHE_CHECK(database.execute("PRAGMA synchronous = FULL"));
  LATHE_CHECK(database.execute("PRAGMA foreign_keys = ON"));
  LATHE_CHECK(store::create_or_check_schema(database));
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(std::move(database)));
}

std::optional<KnobValues> knobs_in_order(const StoredEvaluation& evaluation,
                                         const std::vector<std::string>& names) {
  if (evaluation.knob_names.size() != names.size() || evaluation.knobs.size() != names.size())
    return std::nullopt;
  KnobValues values;
  for (const std::string& name : names) {
    const auto found = std::find(evaluation.knob_names.begin(), evaluation.knob_names.end(), name);
    if (found == evaluation.knob_names.end())
      return std::nullopt;
    values.push_back(evaluation.knobs[static_cast<std::size_t>(found - evaluation.knob_names.begin())]);
  }
  return values;
}

std::filesystem::path default_store_path() {
  const char* path = std::getenv("LATHE_RESULTS");
  return path && *path ? std::filesystem::path(path)
                       : std::filesystem::path("lathe-results") / "results.sqlite";
}

} // namespace lathe
