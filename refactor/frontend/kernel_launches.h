// The launches of a file's host functions, and what they say of the kernels. Internal to this folder.
#pragma once

#include "refactor/frontend/host_reader.h"

namespace lathe::refactor {

// What every host function of the user's files launches, or every one that has one of the names. `others`:
// see launches_through(); null: none.
std::vector<LaunchRecord> host_launches(ParsedSourceImpl& source, OtherDefinitions* others,
                                        const std::vector<std::string>& names = {});

// Fills in the kernel's specialisations and the instances of its launches; launches of a specialisation,
// which is a kernel of its own, are left out.
void settle_instances(KernelInfo& kernel);

} // namespace lathe::refactor
