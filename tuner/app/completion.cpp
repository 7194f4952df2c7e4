// Completion scripts: subcommands, options, the values of options that take one of a few, and files
// elsewhere.
#include "tuner/app/commands.h"

#include <fmt/format.h>

namespace lathe {
namespace {

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Within single quotes of a POSIX shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text)
    result += letter == '\'' ? "'\\''" : std::string(1, letter);
  return result + "'";
}

// Within single quotes of fish, which escapes with a backslash.
std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text)
    result += (letter == '\'' || letter == '\\' ? "\\" : "") + std::string(1, letter);
  return result + "'";
}

std::vector<std::string> option_words(const CommandDescription& command) {
  std::vector<std::string> words;
  for (const OptionDescription& option : command.options) {
    words.push_back(option.name);
    if (!option.letter.empty())
      words.push_back(option.letter);
  }
  return words;
}

std::vector<std::string> names_of(const std::vector<CommandDescription>& commands) {
  std::vector<std::string> names;
  for (const CommandDescription& command : commands)
    names.push_back(command.name);
  return names;
}

std::string bash(const std::vector<CommandDescription>& commands) {
  std::string cases, values;
  for (const CommandDescription& command : commands) {
    cases += fmt::format("    {}) options={} ;;\n", command.name, quoted(joined(option_words(command))));
    for (const OptionDescription& option : command.options) {
      const std::string pattern =
          fmt::format("    {} {}{}", command.name, option.name,
                      option.letter.empty() ? "" : fmt::format("|{} {}", command.name, option.letter));
      std::string quoted_pattern = pattern;
      // The two words are one case pattern: the blank between them is escaped.
      for (std::size_t at = quoted_pattern.find(command.name + " "); at != std::string::npos;
           at = quoted_pattern.find(command.name + " ", at + command.name.size() + 2))
        quoted_pattern.insert(at + command.name.size(), "\\");
      if (!option.choices.empty())
        values += fmt::format("{}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n", quoted_pattern,
                              quoted(joined(option.choices)));
      else if (option.value == "FOLDER")
        values += fmt::format("{}) COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n", quoted_pattern);
      else if (!option.value.empty() && option.value != "FILE" && !option.value_is_optional)
        values += fmt::format("{}) return ;;\n", quoted_pattern);
      else if (option.value == "FILE")
        values += fmt::format("{}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", quoted_pattern);
    }
  }
  return fmt::format(R"(# bash completion of lathe
_lathe() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} options
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$current"))
    return
  fi
  case "$command $previous" in
    completion\ completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- "$current")); return ;;
{}  esac
  case $command in
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _lathe lathe
)",
                     joined(names_of(commands)), values, cases);
}

// Text within a specification of zsh's _arguments: brackets and colons mean something there.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\')
      result += '\\';
    result += letter;
  }
  return result;
}

std::string zsh(const std::vector<CommandDescription>& commands) {
  std::string names, cases;
  for (const CommandDescription& command : commands) {
    names += "    " + quoted(zsh_text(command.name) + ":" + zsh_text(first_line(command.summary))) + "\n";
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const OptionDescription& option : command.options) {
      std::string action;
      if (!option.choices.empty())
        action = ":value:(" + joined(option.choices) + ")";
      else if (option.value == "FOLDER")
        action = ":folder:_files -/";
      else if (option.value == "FILE")
        action = ":file:_files";
      else if (!option.value.empty())
        action = (option.value_is_optional ? "::" : ":") + std::string("value: ");
      for (const std::string& word : {option.name, option.letter})
        if (!word.empty())
          cases += fmt::format("        {} \\\n",
                               quoted("*" + word + "[" + zsh_text(first_line(option.help)) + "]" + action));
    }
    cases += command.name == "completion" ? "        '1:shell:(bash zsh fish)' ;;\n"
                                          : "        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef lathe
# zsh completion of lathe
_lathe() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [ "$funcstack[1]" = "_lathe" ]; then
  _lathe "$@"
else
  compdef _lathe lathe
fi
)",
                     names, cases);
}

std::string fish(const std::vector<CommandDescription>& commands) {
  std::string text = "# fish completion of lathe\n";
  for (const CommandDescription& command : commands) {
    text += fmt::format("complete -c lathe -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        fish_quoted(first_line(command.summary)));
    const std::string condition =
        fmt::format("complete -c lathe -n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionDescription& option : command.options) {
      std::string words;
      for (const std::string& word : {option.name, option.letter})
        if (word.starts_with("--"))
          words += " -l " + word.substr(2);
        else if (!word.empty())
          words += " -s " + word.substr(1);
      if (!option.choices.empty())
        words += " -x -a " + fish_quoted(joined(option.choices));
      else if (option.value == "FILE")
        words += " -r -F";
      else if (option.value == "FOLDER")
        words += " -x -a '(__fish_complete_directories)'";
      else if (!option.value.empty() && !option.value_is_optional)
        words += " -x";
      text += fmt::format("{}{} -d {}\n", condition, words, fish_quoted(first_line(option.help)));
    }
    if (command.name == "completion")
      text += condition + " -f -a 'bash zsh fish'\n";
  }
  return text;
}

} // namespace

std::string completion_script(std::string_view shell, const std::vector<CommandDescription>& commands) {
  return shell == "bash" ? bash(commands) : shell == "zsh" ? zsh(commands) : fish(commands);
}

} // namespace lathe
