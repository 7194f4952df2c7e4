#include "refactor/rewrite/vector_code.h"

#include "refactor/rewrite/launch_facts.h"

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

const char* const helpers = R"(
// COUNT elements that are moved together.
template <class T, int COUNT> struct alignas(sizeof(T) * COUNT < 16 ? sizeof(T) * COUNT : 16) lathe_elements {
  T element[COUNT];
};
// Whether COUNT elements from here on can be moved together.
template <int COUNT, class T> __device__ __forceinline__ bool lathe_aligned(const T* first) {
  return reinterpret_cast<unsigned long long>(first) % alignof(lathe_elements<T, COUNT>) == 0;
}
)";

const char* const helpers_on_chip = R"(
// COUNT elements of shared memory, loaded and stored together where the caller knows that they are aligned.
template <int COUNT, class T>
__device__ __forceinline__ lathe_elements<T, COUNT> lathe_gather(const T* first, bool together) {
  if (together)
    return *reinterpret_cast<const lathe_elements<T, COUNT>*>(first);
  lathe_elements<T, COUNT> all;
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    all.element[i] = first[i];
  return all;
}
template <int COUNT, class T>
__device__ __forceinline__ void lathe_scatter(const lathe_elements<T, COUNT>& all, T* first, bool together) {
  if (together) {
    *reinterpret_cast<lathe_elements<T, COUNT>*>(first) = all;
  } else {
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      first[i] = all.element[i];
  }
}
)";

// A type of the file's own, or another name of one: what can be copied as bytes and has a vector's alignment.
bool is_plain_element(const KernelView& view, QualType type) {
  constexpr std::int64_t MOST_BYTES = 16; // of one access
  if (type->isDependentType() || type->isIncompleteType() || !type.isTriviallyCopyableType(view.context()))
    return false;
  const std::int64_t bytes = view.context().getTypeSizeInChars(type).getQuantity();
  return bytes > 0 && bytes <= MOST_BYTES && (bytes & (bytes - 1)) == 0 &&
         view.context().getTypeAlignInChars(type).getQuantity() == bytes;
}

} // namespace

std::optional<std::string> unknown_element(const KernelView& view, const Candidate& candidate,
                                           const std::vector<ElementAccess>& accesses) {
  for (const ElementAccess& access : accesses)
    if (!size_of_type(candidate, view.type_text(access.element)) && !is_plain_element(view, access.element))
      return "moves elements of type " + view.type_text(access.element);
  return std::nullopt;
}

Knob vector_knob(const std::string& name, const std::string& where) {
  return make_knob(name, KnobKind::vector, "int", {1, 2, 4, 8, 16}, "1",
                   "neighbouring elements that a thread takes at once in " + where);
}

VectorCode::VectorCode(const KernelView& view, const std::vector<ElementAccess>& accesses,
                       const VarDecl* number, std::string knob, const std::string& suffix)
    : view_(view), accesses_(accesses), knob_(std::move(knob)),
      first_(free_name(view.file_text(), "lathe_first" + suffix)),
      done_(free_name(view.file_text(), "lathe_done" + suffix)),
      lane_(free_name(view.file_text(), "lathe_lane" + suffix)),
      together_(free_name(view.file_text(), "lathe_together" + suffix)), number_(number->getNameAsString()),
      type_(view.type_text(number->getType())) {
  for (const ElementAccess& access : accesses)
    vectors_.push_back(free_name(view.file_text(), "lathe_" + access.name + suffix, vectors_));
}

std::string VectorCode::address(const ElementAccess& access, const std::string& index) const {
  return "&" + replace_word(access.text, number_, index);
}

std::string VectorCode::vector_of(const ElementAccess& access) const {
  return "lathe_elements<" + view_.type_text(access.element) + ", " + knob_ + ">";
}

std::string VectorCode::place(const ElementAccess& access) const {
  return "reinterpret_cast<" + std::string(access.writes ? "" : "const ") + vector_of(access) + "*>(" +
         address(access, first_) + ")";
}

std::string VectorCode::alignment_of(const std::string& index, bool on_chip) const {
  std::string text;
  for (const ElementAccess& access : accesses_)
    if (access.on_chip == on_chip) {
      const auto is_aligned = [&](const std::string& at) {
        return "lathe_aligned<" + knob_ + ">(" + address(access, at) + ")";
      };
      text += text.empty() ? "" : " && ";
      const std::string run = "(" + access.run + ")";
      // The first two runs; the others begin as far behind each other.
      text += access.run.empty() ? is_aligned(index)
                                 : run + " > 0 && " + run + " % " + knob_ + " == 0 && " + is_aligned(index) +
                                       " && " + is_aligned(run);
    }
  return text;
}

std::string VectorCode::aligned(const std::string& index) const {
  return alignment_of(index, false);
}

std::string VectorCode::aligned_on_chip(const std::string& index) const {
  return alignment_of(index, true);
}

std::string VectorCode::loads(const std::string& indent) const {
  std::string text;
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    const ElementAccess& access = accesses_[i];
    const std::string gathered =
        "lathe_gather<" + knob_ + ">(" + address(access, first_) + ", " + together_ + ")";
    // Of a run that ends within the vector nothing is loaded here.
    const std::string value =
        !access.reads         ? ""
        : !access.run.empty() ? " = " + together_ + " ? *" + place(access) + " : " + vector_of(access) + "()"
        : access.on_chip      ? " = " + gathered
                              : " = *" + place(access);
    text += indent + (access.writes ? "" : "const ") + vector_of(access) + " " + vectors_[i] + value + ";\n";
  }
  return text;
}

std::string VectorCode::stores(const std::string& indent) const {
  std::string text;
  for (std::size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].writes)
      text += indent +
              (accesses_[i].on_chip ? "lathe_scatter(" + vectors_[i] + ", " + address(accesses_[i], first_) +
                                          ", " + together_ + ")"
                                    : "*" + place(accesses_[i]) + " = " + vectors_[i]) +
              ";\n";
  return text;
}

std::string VectorCode::element_at(std::size_t access, TextRange place) const {
  const std::string element = vectors_[access] + ".element[" + lane_ + "]";
  return accesses_[access].run.empty() ? element
                                       : "(" + together_ + " ? " + element + " : " + view_.text(place) + ")";
}

std::string VectorCode::work(TextRange bytes) const {
  std::vector<std::pair<TextRange, std::string>> changes;
  for (std::size_t i = 0; i < accesses_.size(); ++i)
    for (const TextRange& place : accesses_[i].places)
      if (bytes.begin <= place.begin && place.end <= bytes.end)
        changes.emplace_back(place, element_at(i, place));
  std::ranges::sort(changes, {}, [](const auto& change) { return change.first.begin; });
  std::string text;
  std::size_t done = bytes.begin;
  for (const auto& [place, replacement] : changes) {
    text += view_.text({done, place.begin}) + replacement;
    done = place.end;
  }
  return text + view_.text({done, bytes.end});
}

std::string VectorCode::own_number() const {
  return "const " + type_ + " " + number_ + " = " + first_ + " + " + lane_ + ";";
}

void VectorCode::add_helpers(const std::string& file_text, std::vector<Edit>& edits, bool on_chip) {
  std::string missing = has_helper(file_text, "lathe_elements") ? "" : helpers;
  if (on_chip && !has_helper(file_text, "lathe_gather"))
    missing += helpers_on_chip;
  if (!missing.empty())
    edits.push_back(insert(prelude_position(file_text), missing));
}

} // namespace lathe::refactor
