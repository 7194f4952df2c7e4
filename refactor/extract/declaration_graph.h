// Which declaration needs which.
#pragma once

#include <boost/graph/adjacency_list.hpp>

#include <map>
#include <vector>

namespace clang {
class Decl;
}

namespace lathe::refactor {

class DeclarationGraph {
public:
  // True when the declaration was not there yet.
  bool add(const clang::Decl* declaration);
  void connect(const clang::Decl* user, const clang::Decl* used);
  // Everything that the roots need, themselves included.
  std::vector<const clang::Decl*> reachable(const std::vector<const clang::Decl*>& roots) const;

private:
  using Graph = boost::adjacency_list<boost::setS, boost::vecS, boost::directedS, const clang::Decl*>;
  Graph graph_;
  std::map<const clang::Decl*, Graph::vertex_descriptor> vertices_;
};

} // namespace lathe::refactor
