// Processes of a command under test: who belongs to it, and that nobody outlives it.
#pragma once

#include "tests/whole/command.h"

#include <sys/types.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

namespace lathe {

// Workers notice that their parent is gone when their pipe closes, at the latest after the kernel that they
// run.
inline constexpr auto LONGEST_AFTERLIFE = std::chrono::seconds(20);

// How often a drill kills: LATHE_DRILL_KILLS, else `standard`.
inline int kills_wanted(int standard) {
  const char* text = std::getenv("LATHE_DRILL_KILLS");
  return text ? std::max(1, std::atoi(text)) : standard;
}

// The parent of every process that runs; zombies do not count.
inline std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size())
      continue;
    std::ifstream file(entry.path() / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t behind_name = line.rfind(')'); // a program's name may hold blanks and parentheses
    char state = 0;
    int parent = 0;
    if (behind_name != std::string::npos &&
        std::sscanf(line.c_str() + behind_name + 1, " %c %d", &state, &parent) == 2 && state != 'Z')
      found[pid] = parent;
  }
  return found;
}

// The process and all that descend from it.
inline std::set<pid_t> family(pid_t root) {
  const auto all = parents();
  std::set<pid_t> members;
  for (const auto& [pid, parent] : all)
    for (pid_t at = pid; at > 1; at = all.contains(at) ? all.at(at) : 0)
      if (at == root) {
        members.insert(pid);
        break;
      }
  return members;
}

// Starts lathe in the folder; its messages go to errors.txt there.
inline pid_t start_lathe(std::vector<std::string> words, const std::filesystem::path& folder) {
  words.insert(words.begin(), lathe_program());
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child != 0)
    return child;
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  if (::chdir(folder.c_str()) == 0 && std::freopen("/dev/null", "w", stdout) &&
      std::freopen("errors.txt", "w", stderr))
    ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

inline void expect_gone(const std::set<pid_t>& processes) {
  const auto end = std::chrono::steady_clock::now() + LONGEST_AFTERLIFE;
  std::set<pid_t> left = processes;
  while (!left.empty() && std::chrono::steady_clock::now() < end) {
    const auto alive = parents();
    std::erase_if(left, [&](pid_t pid) { return !alive.contains(pid); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(left.empty()) << left.size() << " processes outlive a killed command";
}

} // namespace lathe
