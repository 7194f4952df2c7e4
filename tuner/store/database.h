// SQLite's interface as values and errors.
#pragma once

#include "tuner/base/result.h"

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace lathe::store {

class Database;

// A prepared statement. Parameters are bound in order, columns read in order.
class Statement {
public:
  Statement(Statement&&) noexcept = default;
  Statement& operator=(Statement&&) noexcept = default;

  Statement& text(std::string_view value);
  Statement& integer(std::int64_t value);
  Statement& real(double value); // SQLite has no NaN: it becomes NULL, and NaN again when read
  // True: a row is there. False: done.
  Result<bool> step();
  Status run(); // a statement without rows

  std::string next_text();
  std::int64_t next_integer();
  double next_real();

private:
  friend class Database;
  Statement(sqlite3_stmt* handle, const Database& database)
      : handle_(handle, sqlite3_finalize), database_(&database) {}
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_;
  const Database* database_;
  int parameter_ = 0, column_ = 0;
  int fault_ = SQLITE_OK; // of a binding; reported by step()
};

class Database {
public:
  static Result<Database> open(const std::filesystem::path& path);
  Result<Statement> prepare(std::string_view sql) const;
  Status execute(std::string_view sql) const; // one statement without parameters and rows
  Result<std::int64_t> query_integer(std::string_view sql) const;
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
  bool is_read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }
  const std::filesystem::path& path() const { return path_; }
  // What a result code of this database means for the user.
  Error error(int code) const;

private:
  Database(sqlite3* handle, std::filesystem::path path)
      : handle_(handle, sqlite3_close_v2), path_(std::move(path)) {}
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
  std::filesystem::path path_;
};

// BEGIN IMMEDIATE; undone unless committed.
class Transaction {
public:
  static Result<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;
};

} // namespace lathe::store
