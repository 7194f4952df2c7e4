// Results whose order atomics decide, such as what a filter keeps: each is compared as a set. What the
// program fixes beside that is asked of a template too: what lies beside each other in several results of one
// length, such as values and where they were; what one result's places hold of another; and which elements
// may lie in each other's place, such as those of one bin.
#pragma once

#include "refactor/guard/host_trial.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::refactor {

// Whether elements at one place of unordered results (by buffer) are together in both runs, in any order:
// false only where each buffer by itself holds the same elements in both, bit for bit.
bool belong_together(const Workload& workload, const TrialResult& one, const TrialResult& other,
                     const std::vector<bool>& unordered);

// Two unordered results, by buffer: the integers of the first are places in the second.
struct PlacesIn {
  std::size_t from = 0, to = 0;
};

// Whether what lies at the places is the same in both runs, element by element.
bool point_to_the_same(const Workload& workload, const TrialResult& one, const TrialResult& other,
                       const PlacesIn& places);
// Pairs of unordered results of which that is so.
std::vector<PlacesIn> places_in_each_other(const Workload& workload, const TrialResult& one,
                                           const TrialResult& other, const std::vector<bool>& unordered);

// Which places of unordered results exchange their elements from one order of threads to another.
class ExchangedPlaces {
public:
  ExchangedPlaces() = default;
  // Every place by itself. `usual`: a run in one order.
  ExchangedPlaces(const Workload& workload, const TrialResult& usual, const std::vector<bool>& unordered);

  // Learns from the same program's run in another order.
  void learn(const Workload& workload, const TrialResult& usual, const TrialResult& other);
  // Where another run holds elements that `usual` has at places that do not exchange theirs with it, or
  // nothing.
  std::string problem_of(const Workload& workload, const TrialResult& usual, const TrialResult& other) const;

private:
  std::size_t root_of(std::size_t buffer, std::size_t place) const;

  std::vector<std::vector<std::size_t>> parents_; // by buffer and place; of ordered results none
};

} // namespace lathe::refactor
