// Kernels whose own text fixes their sizes: with which others they are judged.
#pragma once

#include "refactor/rewrite/rewrite.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// All problems have the text's sizes, and each is there once.
void keep_text_sizes(const Candidate& raw, std::vector<Problem>& problems);

// Numbers in conditions that are a text size's value, beside that dimension's name, become the name: rules
// read a kernel's bounds as numbers where its text has them so. At the text's own sizes nothing changes by
// it.
void name_text_sizes(const std::vector<TextSize>& text_sizes, std::vector<Condition>& conditions);

// Fills in the trials of the candidate's text sizes: small numbers with which the raw kernel runs clean and
// fast, at as many elements as its buffers have then. Fails where there are none. Nothing to do for a kernel
// without text sizes.
Status choose_text_sizes(Candidate& raw, const std::string& architecture,
                         const std::vector<Problem>& problems, std::vector<std::string>& notes);

} // namespace lathe::refactor
