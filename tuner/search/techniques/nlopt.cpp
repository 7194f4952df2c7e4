// NLopt's derivative-free optimisers over a relaxation of the space, with repair. NLopt runs its own loop,
// hence each optimiser lives on a fiber that is suspended while its point is evaluated. When one ends it is
// started again: from the best known point and from a random one in turn.
#include "tuner/search/relaxation.h"
#include "tuner/search/technique.h"

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace lathe::search {

namespace {

namespace context = boost::context;

constexpr std::size_t stack_bytes = 512 << 10;
constexpr int most_repeats = 200; // known answers in a row after which an optimiser has converged
constexpr int most_idle_runs = 8; // runs in a row that ask for nothing new

class NloptSearch final : public Technique {
public:
  NloptSearch(const Context& context, nlopt_algorithm algorithm)
      : Technique(context), algorithm_(algorithm), relaxation_(domain()) {}

  ~NloptSearch() override {
    // NLopt's C frames cannot be unwound: it is asked to stop and runs to its end.
    stopping_ = true;
    while (fiber_)
      fiber_ = std::move(fiber_).resume();
  }

  std::optional<Point> propose() override {
    if (relaxation_.dimensions() == 0)
      return sample_new();
    if (request_ && !history().find(*request_))
      return {}; // waits for its point
    resume();
    if (!request_)
      return sample_new();
    if (history().is_taken(*request_)) // another technique's, still being evaluated
      return {};
    return request_;
  }

private:
  // Runs the optimiser up to its next question, or until it has none.
  void resume() {
    request_.reset();
    nlopt_srand(
        static_cast<unsigned long>(random()())); // its generator is shared by all optimisers of a thread
    if (!fiber_)
      fiber_ = context::fiber(std::allocator_arg, context::fixedsize_stack(stack_bytes),
                              [this](context::fiber&& caller) {
                                caller_ = std::move(caller);
                                run();
                                return std::move(caller_);
                              });
    fiber_ = std::move(fiber_).resume();
  }

  void run() {
    for (int idle = 0; !stopping_ && idle < most_idle_runs; ++idle) {
      asked_ = false;
      const Observation* best = history().best();
      const bool from_best = best && runs_++ % 2 == 0;
      std::vector<double> x = relaxation_.coordinates(from_best ? best->point : domain().sample(random()));
      std::vector<double> lower(x.size(), 0.0), upper, step;
      for (std::size_t i = 0; i < x.size(); ++i) {
        upper.push_back(relaxation_.upper(i));
        step.push_back(std::max(1.0, relaxation_.upper(i) / 4));
      }
      repeats_ = 0;
      optimiser_ = nlopt_create(algorithm_, static_cast<unsigned>(x.size()));
      if (!optimiser_)
        return;
      nlopt_set_min_objective(optimiser_, &NloptSearch::objective, this);
      nlopt_set_lower_bounds(optimiser_, lower.data());
      nlopt_set_upper_bounds(optimiser_, upper.data());
      nlopt_set_initial_step(optimiser_, step.data());
      nlopt_set_xtol_abs1(optimiser_, 0.3); // values are one apart
      nlopt_set_maxeval(optimiser_, 100'000);
      double cost = 0;
      nlopt_optimize(optimiser_, x.data(), &cost); // its verdict is in the history already
      nlopt_destroy(std::exchange(optimiser_, nullptr));
      if (asked_)
        idle = -1;
    }
  }

  static double objective(unsigned count, const double* x, double*, void* self) {
    return static_cast<NloptSearch*>(self)->answer({x, count});
  }

  double answer(std::span<const double> x) {
    if (!stopping_) {
      const Point point = relaxation_.point(x, random());
      if (history().find(point)) {
        if (++repeats_ > most_repeats)
          nlopt_force_stop(optimiser_);
        return value(point);
      }
      repeats_ = 0;
      asked_ = true;
      request_ = point;
      caller_ = std::move(caller_).resume();
      if (!stopping_)
        return value(point);
    }
    nlopt_force_stop(optimiser_);
    return worst_;
  }

  // Log cost; a failure is a little worse than the worst seen.
  double value(const Point& point) {
    const Observation* seen = history().find(point);
    if (!seen->succeeded || !(seen->cost > 0))
      return worst_ + 1;
    const double logarithm = std::log(seen->cost);
    worst_ = any_ ? std::max(worst_, logarithm) : logarithm;
    any_ = true;
    return logarithm;
  }

  nlopt_algorithm algorithm_;
  Relaxation relaxation_;
  nlopt_opt optimiser_ = nullptr;
  context::fiber fiber_, caller_;
  std::optional<Point> request_;
  bool stopping_ = false, asked_ = false, any_ = false;
  int repeats_ = 0;
  unsigned runs_ = 1;
  double worst_ = 0;
};

} // namespace

std::unique_ptr<Technique> make_direct_l(const Context& context) {
  return std::make_unique<NloptSearch>(context, NLOPT_GN_DIRECT_L);
}
std::unique_ptr<Technique> make_crs2(const Context& context) {
  return std::make_unique<NloptSearch>(context, NLOPT_GN_CRS2_LM);
}
std::unique_ptr<Technique> make_isres(const Context& context) {
  return std::make_unique<NloptSearch>(context, NLOPT_GN_ISRES);
}
std::unique_ptr<Technique> make_esch(const Context& context) {
  return std::make_unique<NloptSearch>(context, NLOPT_GN_ESCH);
}
std::unique_ptr<Technique> make_nelder_mead(const Context& context) {
  return std::make_unique<NloptSearch>(context, NLOPT_LN_NELDERMEAD);
}
std::unique_ptr<Technique> make_sbplx(const Context& context) {
  return std::make_unique<NloptSearch>(context, NLOPT_LN_SBPLX);
}
std::unique_ptr<Technique> make_cobyla(const Context& context) {
  return std::make_unique<NloptSearch>(context, NLOPT_LN_COBYLA);
}
std::unique_ptr<Technique> make_bobyqa(const Context& context) {
  return std::make_unique<NloptSearch>(context, NLOPT_LN_BOBYQA);
}

} // namespace lathe::search
