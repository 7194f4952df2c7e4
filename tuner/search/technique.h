// One way of choosing the next configuration. Every technique sees every observation, whoever proposed it.
#pragma once

#include "tuner/search/domain.h"
#include "tuner/search/history.h"
#include "tuner/search/prior.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::search {

// What techniques share. The references outlive them.
struct Context {
  const Domain& domain;
  const History& history;
  const Prior* prior;       // earlier results, or null
  Random random;            // the technique's own stream
  double effort_weight = 0; // SearchOptions::effort_weight
  unsigned threads = 1;     // SearchOptions::threads
};

class Technique {
public:
  explicit Technique(const Context& context) : context_(context) {}
  virtual ~Technique() = default;

  // A valid point that is not taken, or nothing when it has none to offer until it is told more.
  virtual std::optional<Point> propose() = 0;
  // Called for every observation, after it is in the history. `is_new_best`: no better one was known.
  virtual void observe(const Observation& observation, bool is_new_best) {
    (void)observation;
    (void)is_new_best;
  }
  // An observed point whose counters are worth their price now; nothing for techniques that use none.
  virtual std::optional<Point> wants_counters() { return {}; }

protected:
  const Domain& domain() const { return context_.domain; }
  const History& history() const { return context_.history; }
  const Prior* prior() const { return context_.prior; }
  double effort_weight() const { return context_.effort_weight; }
  unsigned threads() const { return context_.threads; }
  Random& random() { return context_.random; }
  // Uniform in [0, 1).
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(context_.random); }
  // Uniform in [0, count).
  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(context_.random);
  }
  // A valid point that is not taken, or nothing when a bounded number of draws finds none.
  std::optional<Point> sample_new();

private:
  Context context_;
};

struct TechniqueKind {
  std::string_view name;
  std::function<std::unique_ptr<Technique>(const Context&)> make;
};

// In the order in which they are listed to users.
const std::vector<TechniqueKind>& technique_kinds();

// One a file in techniques/; those of NLopt share one.
std::unique_ptr<Technique> make_random(const Context& context);
std::unique_ptr<Technique> make_local_search(const Context& context);
std::unique_ptr<Technique> make_greedy_ils(const Context& context);
std::unique_ptr<Technique> make_genetic(const Context& context);
std::unique_ptr<Technique> make_differential_evolution(const Context& context);
std::unique_ptr<Technique> make_simulated_annealing(const Context& context);
std::unique_ptr<Technique> make_tree_ensemble(const Context& context);
std::unique_ptr<Technique> make_gaussian_process(const Context& context);
// The Gaussian process with `context.prior`, which is usable, beside one without it.
std::unique_ptr<Technique> make_guided_search(const Context& context);
std::unique_ptr<Technique> make_profile_guided(const Context& context);
std::unique_ptr<Technique> make_direct_l(const Context& context);
std::unique_ptr<Technique> make_crs2(const Context& context);
std::unique_ptr<Technique> make_isres(const Context& context);
std::unique_ptr<Technique> make_esch(const Context& context);
std::unique_ptr<Technique> make_nelder_mead(const Context& context);
std::unique_ptr<Technique> make_sbplx(const Context& context);
std::unique_ptr<Technique> make_cobyla(const Context& context);
std::unique_ptr<Technique> make_bobyqa(const Context& context);

} // namespace lathe::search
