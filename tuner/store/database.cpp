#include "tuner/store/database.h"

#include <cmath>
#include <limits>

namespace lathe::store {
namespace {

constexpr int busy_timeout_ms = 60'000;

std::string aside(const std::filesystem::path& path) {
  return "set it aside with `mv " + path.string() + " " + path.string() +
         ".corrupt` and run again (`sqlite3 " + path.filename().string() +
         ".corrupt .recover` shows what can still be read)";
}

} // namespace

Statement& Statement::text(std::string_view value) {
  const int code = sqlite3_bind_text64(handle_.get(), ++parameter_, value.data(), value.size(),
                                       SQLITE_TRANSIENT, SQLITE_UTF8);
  fault_ = fault_ == SQLITE_OK ? code : fault_;
  return *this;
}

Statement& Statement::integer(std::int64_t value) {
  const int code = sqlite3_bind_int64(handle_.get(), ++parameter_, value);
  fault_ = fault_ == SQLITE_OK ? code : fault_;
  return *this;
}

Statement& Statement::real(double value) {
  const int code = sqlite3_bind_double(handle_.get(), ++parameter_, value);
  fault_ = fault_ == SQLITE_OK ? code : fault_;
  return *this;
}

Result<bool> Statement::step() {
  column_ = 0;
  if (fault_ != SQLITE_OK)
    return database_->error(fault_);
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW || code == SQLITE_DONE)
    return code == SQLITE_ROW;
  return database_->error(code);
}

Status Statement::run() {
  LATHE_TRY([[maybe_unused]] const bool row, step());
  return Done{};
}

std::string Statement::next_text() {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column_));
  const int length = sqlite3_column_bytes(handle_.get(), column_++);
  return text ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

std::int64_t Statement::next_integer() {
  return sqlite3_column_int64(handle_.get(), column_++);
}

double Statement::next_real() {
  const int column = column_++;
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL
             ? std::numeric_limits<double>::quiet_NaN()
             : sqlite3_column_double(handle_.get(), column);
}

Result<Database> Database::open(const std::filesystem::path& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database(handle, path); // a failed open leaves a handle, too
  if (!handle)
    return Error{"cannot open the results store " + path.string(), "out of memory", ""};
  if (code != SQLITE_OK)
    return database.error(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* handle = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &handle, nullptr);
  if (code != SQLITE_OK)
    return error(code);
  return Statement(handle, *this);
}

Status Database::execute(std::string_view sql) const {
  LATHE_TRY(Statement statement, prepare(sql));
  return statement.run();
}

Result<std::int64_t> Database::query_integer(std::string_view sql) const {
  LATHE_TRY(Statement statement, prepare(sql));
  LATHE_TRY(const bool row, statement.step());
  return row ? statement.next_integer() : std::int64_t{0};
}

Error Database::error(int code) const {
  const std::string what = "the results store " + path_.string();
  const std::string reason = sqlite3_errmsg(handle_.get());
  switch (code & 0xff) {
  case SQLITE_NOTADB:
    return {what, "it is not a results store (not an SQLite file)",
            "give another path (LATHE_RESULTS) or move the file away"};
  case SQLITE_CORRUPT:
    return {what, "it is corrupted (" + reason + ")", aside(path_)};
  case SQLITE_READONLY:
  case SQLITE_PERM:
  case SQLITE_CANTOPEN:
    return {what, "it cannot be opened for writing (" + reason + ")",
            "set LATHE_RESULTS to a path in a folder that can be written"};
  case SQLITE_FULL:
    return {what, "the disk is full", "free some space and run again, everything recorded so far is kept"};
  case SQLITE_IOERR:
    return {what, "the system cannot read or write it (" + reason + ")",
            "look for a full disk, a quota or a file-size limit and run again, everything recorded so far is "
            "kept"};
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return {what, "another process has kept it locked for a minute",
            "end that process or use another LATHE_RESULTS"};
  default:
    return {what, reason, ""};
  }
}

Result<Transaction> Transaction::begin(const Database& database) {
  LATHE_CHECK(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // Some failures have undone the transaction already; then this one's failure means nothing.
  if (database_)
    (void)database_->execute("ROLLBACK");
}

Status Transaction::commit() {
  LATHE_CHECK(database_->execute("COMMIT"));
  database_ = nullptr;
  return Done{};
}

} // namespace lathe::store
