#include "cli/manual.h"

#include <algorithm>
#include <vector>

#include "base/format.h"
#include "base/in_quotes.h"

namespace kinglet::cli {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> all;
  for (const std::string& name : option.get_snames()) all.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) all.push_back("--" + name);
  return all;
}

namespace {

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// Puts the text between single quotes for a shell.
std::string shell_quoted(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

std::string bash_completions(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += " " + command->get_name();
    std::string words;
    for (const CLI::Option* option : options_of(*command)) {
      for (const std::string& spelling : spellings(*option)) words += " " + spelling;
    }
    cases += cat("    ", command->get_name(), ") words=\"", words, "\" ;;\n");
  }
  return cat(
      "_kinglet() {\n"
      "  local words current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
      "  case \"${COMP_WORDS[1]}\" in\n",
      cases,
      "  esac\n"
      "  if ((COMP_CWORD == 1)); then words=\"",
      names,
      "\"; fi\n"
      "  if [[ $current == -* || $COMP_CWORD == 1 ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _kinglet kinglet\n");
}

std::string fish_completions(const CLI::App& app) {
  std::string script;
  for (const CLI::App* command : commands_of(app)) {
    const std::string& name = command->get_name();
    script += cat("complete -c kinglet -n __fish_use_subcommand -f -a ", name, " -d ",
                  shell_quoted(command->get_description()), "\n");
    for (const CLI::Option* option : options_of(*command)) {
      script += cat("complete -c kinglet -n '__fish_seen_subcommand_from ", name, "'");
      for (const std::string& letter : option->get_snames()) script += " -s " + letter;
      for (const std::string& word : option->get_lnames()) script += " -l " + word;
      if (takes_value(*option)) script += " -r";
      script += " -d " + shell_quoted(option->get_description()) + "\n";
    }
  }
  return script;
}

// Escapes text for _arguments, in which a colon ends a part, and brackets contain the description.
std::string zsh_text(std::string text) {
  for (const char* special : {"[", "]", ":"}) text = replaced(text, special, cat("\\", special));
  return text;
}

std::string zsh_completions(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += cat("    ",
                 shell_quoted(cat(command->get_name(), ":", zsh_text(command->get_description()))),
                 "\n");
    cases += cat("    ", command->get_name(), ")\n      _arguments");
    for (const CLI::Option* option : options_of(*command)) {
      for (const std::string& spelling : spellings(*option)) {
        const std::string value = takes_value(*option) ? ":value:_files" : "";
        cases +=
            cat(" \\\n        ",
                shell_quoted(cat(spelling, "[", zsh_text(option->get_description()), "]", value)));
      }
    }
    cases += " \\\n        '*:file:_files' ;;\n";
  }
  return cat(
      "#compdef kinglet\n"
      "_kinglet() {\n"
      "  local -a commands=(\n",
      names,
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n",
      cases,
      "  esac\n"
      "}\n"
      "_kinglet \"$@\"\n");
}

// Escapes text for man(7), in which backslashes and hyphens are special, and so are a dot and a
// single quote at the beginning of a line.
std::string roff(std::string text) {
  text = replaced(replaced(std::move(text), "\\", "\\e"), "-", "\\-");
  return text.starts_with('.') || text.starts_with('\'') ? "\\&" + text : text;
}

}  // namespace

Result<std::string> completions(const CLI::App& app, std::string_view shell) {
  if (shell == "bash") return bash_completions(app);
  if (shell == "fish") return fish_completions(app);
  if (shell == "zsh") return zsh_completions(app);
  return Error{ErrorCode::invalid_argument,
               cat("the shell ", in_quotes(shell), " is unknown (known: bash, fish, zsh)")};
}

std::string manual_page(const CLI::App& app) {
  std::string page = cat(".TH KINGLET 1\n.SH NAME\nkinglet \\- ", roff(app.get_description()),
                         "\n.SH SYNOPSIS\n.B kinglet\n.I command\n.RI [ options ]\n.SH COMMANDS\n");
  for (const CLI::App* command : commands_of(app)) {
    page += cat(".SS kinglet ", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) page += " " + roff(option->get_name(true));
    }
    page += cat("\n", roff(command->get_description()), ".\n");
    for (const CLI::Option* option : options_of(*command)) {
      std::string names;
      for (const std::string& spelling : spellings(*option)) {
        names += (names.empty() ? "" : ", ") + spelling;
      }
      page += cat(".TP\n.B ", roff(names), "\n", roff(option->get_description()), "\n");
    }
  }
  return page;
}

}  // namespace kinglet::cli
