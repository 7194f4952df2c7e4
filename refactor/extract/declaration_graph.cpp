#include "refactor/extract/declaration_graph.h"

#include <boost/graph/breadth_first_search.hpp>

namespace lathe::refactor {

bool DeclarationGraph::add(const clang::Decl* declaration) {
  const auto [at, is_new] = vertices_.try_emplace(declaration, 0);
  if (is_new)
    at->second = boost::add_vertex(declaration, graph_);
  return is_new;
}

void DeclarationGraph::connect(const clang::Decl* user, const clang::Decl* used) {
  add(user);
  add(used);
  boost::add_edge(vertices_.at(user), vertices_.at(used), graph_);
}

std::vector<const clang::Decl*>
DeclarationGraph::reachable(const std::vector<const clang::Decl*>& roots) const {
  std::vector<boost::default_color_type> colours(boost::num_vertices(graph_), boost::white_color);
  const auto colour =
      boost::make_iterator_property_map(colours.begin(), boost::get(boost::vertex_index, graph_));
  boost::queue<Graph::vertex_descriptor> queue;
  for (const clang::Decl* root : roots) {
    const auto at = vertices_.find(root);
    if (at != vertices_.end() && colours[at->second] == boost::white_color)
      boost::breadth_first_visit(graph_, at->second, queue, boost::default_bfs_visitor(), colour);
  }
  std::vector<const clang::Decl*> found;
  for (const auto& [declaration, vertex] : vertices_)
    if (colours[vertex] != boost::white_color)
      found.push_back(declaration);
  return found;
}

} // namespace lathe::refactor
