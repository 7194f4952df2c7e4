// The walk over a kernel's text behind analyse_threads(): what is computed from the thread's index, and
// whether each use of it is right for every block size. Its parts: thread_analysis_indices.cpp (which values
// are indices that deal work out), thread_analysis_rounds.cpp (which loops do), thread_model.cpp (everything
// else that a value is used for).
#pragma once

#include "refactor/knobs/thread_model.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe::refactor {

class ThreadAnalysis {
public:
  ThreadAnalysis(KernelView& view, const ThreadAxis& axis, bool launcher_varies)
      : view_(view), thread_(axis.thread), count_(axis.count), launcher_varies_(launcher_varies) {}

  std::variant<ThreadRefusal, ThreadModel> run();

private:
  // c * (thread + count * X): X when the polynomial has that form (thread and count may be those of groups).
  struct Share {
    Polynomial per_thread; // c
    Polynomial spread;     // X; zero when the index is within one block
    std::string thread, count;
  };

  // Values (thread_analysis_indices.cpp).
  // An element of a later round of the block's own: index + threads.
  bool within_share(const Polynomial& value) const;
  // Group sizes G for which "(thread/G)" occurs in the polynomial.
  std::optional<std::int64_t> group_size(const Polynomial& value) const;
  std::optional<Share> share_of(const Polynomial& value);
  std::vector<std::pair<std::string, std::vector<std::string>>> pairs(const Polynomial& value) const;
  // Lanes (thread % G) are the same in every block size that is a multiple of G.
  bool mentions_thread(const Polynomial& value);
  void note_group(std::int64_t size);
  static bool is_arithmetic(const clang::Stmt* statement);
  // The largest arithmetic expression around a leaf.
  const clang::Expr* maximal(const clang::Expr* leaf) const;
  // Inside the arm of a choice that the defaults do not take.
  bool is_dead(const clang::Stmt* statement) const;
  // (threads * block + thread) / 32 without a name for what is divided: an index as others are.
  void keep_divided_indices();
  // Whether an atom is the index, or the index divided, once or several times: never what is left over.
  static bool is_quotient_of(std::string_view atom, std::string_view index);
  void keep_index_variables();

  // Loops (thread_analysis_rounds.cpp).
  void accept_share(const Share& share, clang::SourceLocation location, const std::string& atom);
  // An index c * (thread + count * round) over total / (c * count) rounds ends where `total` does.
  void note_whole_rounds(const Share& share, const std::string& atom);
  // True when a loop over this counter has a bound that follows the number of threads.
  bool loop_bound_follows(const std::string& counter);
  // A variable that starts at the thread's index and is stepped.
  void check_induction(const clang::VarDecl* variable, const Polynomial& start);
  // Which elements a thread's rounds are follows the number of threads.
  void check_rounds(const clang::Stmt* step);
  // Which elements a block takes of a loop over the whole grid follows the number of threads, and so would a
  // result that each block leaves behind on its own.
  void check_block_results();
  // Where an index spans blocks, the grid follows the block: a block's own number then means other elements.
  void check_blocks_alone();
  void check_halving(const clang::VarDecl* variable);

  // Everything else (thread_model.cpp).
  void refuse(clang::SourceLocation location, const std::string& what);
  void note_evidence(clang::SourceLocation location);
  void check_expressions();
  // Of a function of one expression that is read in place of each of its calls.
  bool is_returned(const clang::Stmt* leaf) const;
  // A whole number that comes from memory or from a function, not from the thread's own number.
  bool names_data(const clang::DeclRefExpr* reference) const;
  bool is_data(const clang::Expr* value) const;
  bool is_of_interest(const Polynomial& value) const;
  void check(const clang::Expr* expression, const Polynomial& value);
  void note_guard(const clang::Expr* expression, const std::string& atom);
  void check_comparison(const clang::BinaryOperator* comparison, const clang::Expr* side,
                        const Polynomial& value, bool has_thread);
  void check_address(const clang::Expr* expression, const Polynomial& value, bool on_chip,
                     const clang::ArraySubscriptExpr* subscript);
  // A shared array indexed by threads must have room for the threads of the block.
  void check_extent(const clang::ArraySubscriptExpr* subscript, const Polynomial& index);
  void note_dynamic(const Polynomial& index);
  static const clang::Expr* condition_of(const clang::Stmt* statement);
  bool selects_threads(const clang::Expr* condition);

  KernelView& view_;
  const std::string thread_, count_;
  const bool launcher_varies_;
  ThreadModel model_;
  std::string refusal_;
  std::map<std::string, clang::SourceLocation> indices_; // atom -> where
  std::set<std::string> guarded_;
  // Stepped indices whose block has several rounds of its own in each step: what a round is, and how many.
  std::map<std::string, std::pair<Polynomial, std::int64_t>> shares_;
  std::set<std::string> halving_;
};

} // namespace lathe::refactor
