#include "tuner/app/counters.h"

#include <algorithm>
#include <chrono>
#include <random>

namespace lathe {

namespace {

// In a row, before anything was read: counters are not to be had here.
constexpr int HOPELESS = 3;
bool is_hopeless(const CounterReading& reading) {
  return reading.read == 0 && reading.failed >= HOPELESS;
}

// Without the time while counting: it is what is sought, not what goes with it.
Counters searchable(const Profile& profile) {
  Counters counters = profile_counters(profile);
  counters.erase("DurationMicroseconds");
  return counters;
}

} // namespace

Result<CounterReading> record_counters(Backend& backend, Store& store, const StoreKey& key,
                                       const std::vector<std::string>& knob_names,
                                       std::vector<KnobValues> configurations, double seconds,
                                       std::uint64_t seed, const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  LATHE_TRY(const std::vector<StoredProfile> stored, store.profiles(key));
  std::erase_if(configurations, [&](const KnobValues& knobs) {
    return std::ranges::any_of(stored, [&](const StoredProfile& profile) {
      return profile.knob_names == knob_names && profile.knobs == knobs;
    });
  });
  std::mt19937_64 random(seed);
  std::ranges::shuffle(configurations, random);
  CounterReading reading;
  for (const KnobValues& knobs : configurations) {
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (stop || passed >= seconds || is_hopeless(reading))
      break;
    const Result<Profile> profile = backend.profile(knobs);
    if (!profile.ok()) {
      ++reading.failed;
      reading.problem = profile.error().sentence();
      continue;
    }
    LATHE_CHECK(store.record_profile(key, {knobs, knob_names, *profile, ""}));
    ++reading.read;
  }
  return reading;
}

Status tell_stored_counters(Search& search, const Space& space, Store& store, const StoreKey& key,
                            const std::vector<std::string>& knob_names) {
  LATHE_TRY(const std::vector<StoredProfile> stored, store.profiles(key));
  for (const StoredProfile& profile : stored)
    if (profile.knobs && profile.knob_names == knob_names)
      if (const auto point = space.point_of(*profile.knobs); point && space.contains(*point))
        search.tell_counters(*point, searchable(profile.profile));
  return Done{};
}

Status tell_wanted_counters(Search& search, const Space& space, Backend& backend, Store& store,
                            const StoreKey& key, const std::vector<std::string>& knob_names,
                            CounterReading& reading, const std::atomic<bool>& stop) {
  while (!stop && !is_hopeless(reading)) {
    const std::optional<Point> wanted = search.wants_counters();
    if (!wanted)
      break;
    const KnobValues knobs = space.values(*wanted);
    const Result<Profile> profile = backend.profile(knobs);
    if (!profile.ok()) {
      ++reading.failed;
      reading.problem = profile.error().sentence();
      search.tell_counters(*wanted, std::nullopt);
      continue;
    }
    LATHE_CHECK(store.record_profile(key, {knobs, knob_names, *profile, ""}));
    ++reading.read;
    search.tell_counters(*wanted, searchable(*profile));
  }
  return Done{};
}

} // namespace lathe
