// The text of work on several neighbouring elements that are moved together. Internal to this folder.
#pragma once

#include "refactor/knobs/element_work.h"
#include "refactor/rewrite/rule_support.h"

namespace lathe::refactor {

class VectorCode {
public:
  // `knob`: the number of elements; `number`: the element's, whose variable the accesses name. `suffix` keeps
  // the names apart from those of other places. All are referred to.
  VectorCode(const KernelView& view, const std::vector<ElementAccess>& accesses, const clang::VarDecl* number,
             std::string knob, const std::string& suffix);

  // Names that the file does not use yet.
  const std::string& first() const { return first_; } // the first element of a vector
  const std::string& done() const { return done_; }   // where whole vectors end
  const std::string& lane() const { return lane_; }   // of an element in its vector

  // "lathe_aligned<VEC>(&a[...]) && ..." at element `index`, of buffers.
  std::string aligned(const std::string& index) const;
  // The same of shared memory; empty where none is accessed. Its elements move together where the variable
  // together() is true when the kernel runs, and one by one otherwise.
  std::string aligned_on_chip(const std::string& index) const;
  const std::string& together() const { return together_; }
  // Declarations of the vectors, loaded at `first` where their values are read.
  std::string loads(const std::string& indent) const;
  std::string stores(const std::string& indent) const;
  // Source text, with each access that moves as part of a vector in its place there.
  std::string work(TextRange bytes) const;
  // "const int i = lathe_first + lathe_lane;"
  std::string own_number() const;

  // Definitions that the file needs once; `on_chip`: for shared memory, too.
  static void add_helpers(const std::string& file_text, std::vector<Edit>& edits, bool on_chip = false);

private:
  const KernelView& view_;
  const std::vector<ElementAccess>& accesses_;
  std::string knob_, first_, done_, lane_, together_, number_, type_;
  std::vector<std::string> vectors_; // one an access

  std::string address(const ElementAccess& access, const std::string& index) const;
  std::string vector_of(const ElementAccess& access) const;
  std::string place(const ElementAccess& access) const;
  std::string element_at(std::size_t access, TextRange place) const; // of a vector, for what stands there
  std::string alignment_of(const std::string& index, bool on_chip) const;
};

// Why the accesses' elements cannot be moved together; nothing when they can.
std::optional<std::string> unknown_element(const KernelView& view, const Candidate& candidate,
                                           const std::vector<ElementAccess>& accesses);

// The knob's values: up to 16 bytes of the narrowest elements.
Knob vector_knob(const std::string& name, const std::string& where);

} // namespace lathe::refactor
