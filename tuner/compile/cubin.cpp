// Reads cubins: 64-bit ELF files with NVIDIA's sections. The attribute numbers of .nv.info are those that
// cuobjdump prints as EIATTR_*.
#include "tuner/compile/compile.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <map>

namespace lathe {
namespace {

struct Section {
  std::string_view name;
  std::string_view data; // empty for NOBITS
  std::uint64_t size = 0;
  std::uint32_t type = 0, link = 0, info = 0;
  std::uint64_t entry_size = 0;
};

Error malformed(const std::string& why) {
  return {"cannot read the compiled kernel", "the cubin is damaged: " + why,
          "delete the cubin cache and run again"};
}

template <class T> bool read_at(std::string_view bytes, std::uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

// The string that starts at `offset`.
std::string_view text_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size())
    return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

class Cubin {
public:
  static Result<Cubin> open(std::string_view bytes) {
    Elf64_Ehdr header;
    if (!read_at(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64)
      return malformed("no ELF header");
    Cubin cubin;
    std::vector<Elf64_Shdr> headers(header.e_shnum);
    for (std::size_t i = 0; i < headers.size(); ++i)
      if (!read_at(bytes, header.e_shoff + i * sizeof(Elf64_Shdr), headers[i]))
        return malformed("its section table is cut off");
    for (const Elf64_Shdr& raw : headers) {
      Section section;
      section.size = raw.sh_size;
      section.type = raw.sh_type;
      section.link = raw.sh_link;
      section.info = raw.sh_info;
      section.entry_size = raw.sh_entsize;
      if (raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL) {
        if (raw.sh_offset > bytes.size() || bytes.size() - raw.sh_offset < raw.sh_size)
          return malformed("a section is cut off");
        section.data = bytes.substr(raw.sh_offset, raw.sh_size);
      }
      cubin.sections_.push_back(section);
    }
    if (header.e_shstrndx >= headers.size())
      return malformed("it has no section names");
    const std::string_view names = cubin.sections_[header.e_shstrndx].data;
    for (std::size_t i = 0; i < headers.size(); ++i)
      cubin.sections_[i].name = text_at(names, headers[i].sh_name);
    return cubin;
  }

  const std::vector<Section>& sections() const { return sections_; }

  const Section* find(std::string_view prefix, std::string_view entry) const {
    for (const Section& section : sections_)
      if (section.name.size() == prefix.size() + entry.size() && section.name.starts_with(prefix) &&
          section.name.ends_with(entry))
        return &section;
    return nullptr;
  }

  // Name of symbol number `index` of the symbol table in section `table`; a section symbol has its section's
  // name.
  std::string_view symbol_name(std::size_t table, std::uint64_t index) const {
    Elf64_Sym symbol;
    if (table >= sections_.size() || !read_at(sections_[table].data, index * sizeof symbol, symbol))
      return {};
    if (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION && symbol.st_shndx < sections_.size())
      return sections_[symbol.st_shndx].name;
    return sections_[table].link < sections_.size()
               ? text_at(sections_[sections_[table].link].data, symbol.st_name)
               : std::string_view{};
  }

private:
  std::vector<Section> sections_;
};

struct Attribute {
  std::uint8_t format, number;
  std::size_t offset, size; // of the value
};

// .nv.info is a list of (format, number, value); format 4 has a 16-bit size before its value, the others 2
// bytes.
std::vector<Attribute> attributes(std::string_view info) {
  std::vector<Attribute> found;
  for (std::size_t at = 0; at + 4 <= info.size();) {
    Attribute attribute{static_cast<std::uint8_t>(info[at]), static_cast<std::uint8_t>(info[at + 1]), at + 2,
                        2};
    at += 4;
    if (attribute.format == 4) {
      std::uint16_t size = 0;
      read_at(info, attribute.offset, size);
      attribute.offset = at;
      attribute.size = std::min<std::size_t>(size, info.size() - at);
      at += attribute.size;
    }
    found.push_back(attribute);
  }
  return found;
}

constexpr std::uint8_t PARAM_CBANK = 0x0a, EXTERNS = 0x0f, REGCOUNT = 0x2f;

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string relocations_of(const Cubin& cubin, const Section& text, std::string_view entry) {
  std::vector<std::string> lines;
  for (const Section& section : cubin.sections()) {
    if ((section.type != SHT_REL && section.type != SHT_RELA) || section.info >= cubin.sections().size() ||
        &cubin.sections()[section.info] != &text)
      continue;
    const std::size_t step = section.type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (std::size_t at = 0; at + step <= section.data.size(); at += step) {
      Elf64_Rela relocation{};
      std::memcpy(&relocation, section.data.data() + at, step);
      const std::string symbol(cubin.symbol_name(section.link, ELF64_R_SYM(relocation.r_info)));
      lines.push_back(std::to_string(relocation.r_offset) + " " +
                      std::to_string(ELF64_R_TYPE(relocation.r_info)) + " " +
                      replace_all(symbol, entry, "<entry>") + "+" + std::to_string(relocation.r_addend));
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines)
    all += line + "\n";
  return all;
}

Error no_entry(std::string_view entry) {
  return {"cannot find kernel " + std::string(entry) + " in the compiled code",
          "the cubin has no section for it", ""};
}

} // namespace

Result<std::string> kernel_text_section(std::string_view bytes, std::string_view entry) {
  LATHE_TRY(const Cubin cubin, Cubin::open(bytes));
  const Section* text = cubin.find(".text.", entry);
  if (!text)
    return no_entry(entry);
  return std::string(text->data);
}

Result<std::vector<std::string>> kernel_entries(std::string_view bytes) {
  LATHE_TRY(const Cubin cubin, Cubin::open(bytes));
  // A device function has a .text section too, but only a kernel has a parameter bank.
  std::vector<std::string> entries;
  for (const Section& section : cubin.sections())
    if (constexpr std::string_view prefix = ".text.";
        section.name.starts_with(prefix) && cubin.find(".nv.constant0.", section.name.substr(prefix.size())))
      entries.emplace_back(section.name.substr(prefix.size()));
  return entries;
}

Result<KernelImage> kernel_image(std::string_view bytes, std::string_view entry) {
  LATHE_TRY(const Cubin cubin, Cubin::open(bytes));
  const Section* text = cubin.find(".text.", entry);
  if (!text)
    return no_entry(entry);
  KernelImage image;
  image.text = text->data;
  image.relocations = relocations_of(cubin, *text, entry);
  if (const Section* shared = cubin.find(".nv.shared.", entry))
    image.shared_bytes = shared->size;
  if (const Section* bank = cubin.find(".nv.constant0.", entry))
    image.constant_bytes = bank->size;
  for (const Section& section : cubin.sections())
    if (section.name.starts_with(".nv.constant") && !section.name.starts_with(".nv.constant0.") &&
        section.name.size() > entry.size() && section.name.ends_with(entry) &&
        section.name[section.name.size() - entry.size() - 1] == '.')
      image.constants += std::string(section.name.substr(0, section.name.size() - entry.size())) + ":" +
                         std::string(section.data);

  if (const Section* info = cubin.find(".nv.info.", entry)) {
    image.info = info->data;
    for (const Attribute& attribute : attributes(info->data)) {
      if (attribute.number == PARAM_CBANK)
        std::fill_n(image.info.begin() + static_cast<std::ptrdiff_t>(attribute.offset),
                    std::min<std::size_t>(4, attribute.size), '\0');
      if (attribute.number == EXTERNS)
        std::fill_n(image.info.begin() + static_cast<std::ptrdiff_t>(attribute.offset), attribute.size, '\0');
    }
  }
  if (const Section* info = cubin.find(".nv.info", ""))
    for (const Attribute& attribute : attributes(info->data)) {
      std::uint32_t symbol = 0, value = 0;
      if (attribute.number == REGCOUNT && read_at(info->data, attribute.offset, symbol) &&
          read_at(info->data, attribute.offset + 4, value) && cubin.symbol_name(info->link, symbol) == entry)
        image.registers = static_cast<int>(value);
    }
  return image;
}

} // namespace lathe
