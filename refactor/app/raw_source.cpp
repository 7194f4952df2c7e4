#include "refactor/app/raw_source.h"

namespace lathe::refactor {

std::optional<RawSource> parse_raw(const Candidate& raw, const ParseOptions& options) {
  const std::filesystem::path file = "/lathe/raw.cu";
  ParseOptions alone = options;
  alone.compile_database.clear();
  alone.overlay[file] = raw.text;
  auto source = ParsedSource::parse(file, alone);
  if (!source.ok())
    return std::nullopt;
  auto kernel = find_kernel(**source, raw.kernel);
  if (!kernel.ok())
    return std::nullopt;
  return RawSource{std::move(*source), std::move(*kernel)};
}

} // namespace lathe::refactor
