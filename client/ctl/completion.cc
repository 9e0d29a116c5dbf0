// Completion scripts for shells.
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "client/ctl/command_line.h"
#include "client/ctl/commands.h"
#include "client/ctl/diagnose/findings.h"
#include "client/ctl/request.h"

namespace csi_proxy::ctl {
namespace {

// The script without its tables. zsh runs the script in an emulation of bash that lacks compopt.
constexpr char kBash[] = R"(_csi_proxyctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} words="" flags="{flags}"
  case "${COMP_WORDS[*]:1:COMP_CWORD-1}" in
    "") words="{commands}" ;;
    *" -o"|*" --output"|*" --output =") words="{outputs}" ;;
    describe|help) words="{groups}" ;;
    completion) words="{shells}" ;;
    "repair "*"--what =") words="{kinds}" ;;
{versions}{values}{methods}    *) words=$flags ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _csi_proxyctl csi-proxyctl
)";

// PowerShell ignores case when it compares the keys of a hash table. Windows PowerShell 5.1 calls a
// completer for an empty word and for `--a`, but not for `-` or `-a` (PowerShell issue 2912).
constexpr char kPowerShell[] =
    R"(Register-ArgumentCompleter -Native -CommandName 'csi-proxyctl', 'csi-proxyctl.exe' -ScriptBlock {
  param($word, $ast, $cursor)
  $flags = '{flags}'
  $after = @{
    '' = '{commands}'
    'describe' = '{groups}'
    'help' = '{groups}'
    'completion' = '{shells}'
{methods}  }
  $versions = @{
{versions}  }
  $values = @{
    '-o' = '{outputs}'
    '--output' = '{outputs}'
    '--what' = '{kinds}'
{values}  }
  $before = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | Select-Object -Skip 1 | ForEach-Object { $_.Extent.Text })
  if ($before.Count -gt 0 -and $versions.ContainsKey($before[0])) { $values['--api'] = $versions[$before[0]] }
  $line = $before -join ' '
  $prefix = ''
  if ("$word" -match '^(--[a-z0-9.-]+)=' -and $values.ContainsKey($Matches[1])) {
    $words = $values[$Matches[1]]
    $prefix = $Matches[0]
  } elseif ($before.Count -gt 0 -and $values.ContainsKey($before[-1])) {
    $words = $values[$before[-1]]
  } elseif ($after.ContainsKey($line)) {
    $words = $after[$line]
  } else {
    $words = $flags
    foreach ($count in 2, 1) {
      $key = @($before | Select-Object -First $count) -join ' '
      if ($before.Count -gt $count -and $after.ContainsKey($key) -and $after[$key] -match '--') { $words = $after[$key]; break }
    }
  }
  foreach ($found in $words -split ' ') {
    $text = $prefix + $found
    if ($found -ne '' -and $text.StartsWith("$word", 'OrdinalIgnoreCase')) {
      [System.Management.Automation.CompletionResult]::new($text, $found, 'ParameterValue', $found)
    }
  }
}
)";

struct Shell {
  const char* name;
  const char* script;
  // Forms of a table row: for a line that is exactly $0, and for a line that begins with $0.
  const char* after;
  const char* after_and_later;
  // Forms of a row with the versions $1 of the group $0, and of a row with the values $1 of the
  // flag $0.
  const char* versions;
  const char* values;
  // The text that is printed before the script.
  const char* opening;
};

constexpr Shell kShells[] = {
    {"bash", kBash, "    \"$0\") words=\"$1\" ;;\n",
     "    \"$0\"|\"$0 \"*) words=\"$1 $$flags\" ;;\n",
     "    \"$0 \"*\" --api\"|\"$0 \"*\" --api =\") words=\"$1\" ;;\n",
     "    *\" $0\"|*\" $0 =\") words=\"$1\" ;;\n", ""},
    {"zsh", kBash, "    \"$0\") words=\"$1\" ;;\n",
     "    \"$0\"|\"$0 \"*) words=\"$1 $$flags\" ;;\n",
     "    \"$0 \"*\" --api\"|\"$0 \"*\" --api =\") words=\"$1\" ;;\n",
     "    *\" $0\"|*\" $0 =\") words=\"$1\" ;;\n", "autoload -U +X bashcompinit && bashcompinit\n"},
    {"powershell", kPowerShell, "    '$0' = '$1'\n", "    '$0' = \"$1 $$flags\"\n",
     "    '$0' = '$1'\n", "    '$0' = '$1'\n", ""},
};

// Returns the flags that completion offers: `--name=` of `--name=TYPE`, or `--name` for a boolean.
std::vector<std::string> Completed(const pb::Descriptor& type) {
  std::vector<std::string> flags = FieldFlags(type);
  for (std::string& flag : flags) {
    const size_t type_at = flag.find('=') + 1;
    flag.resize(flag.substr(type_at) == "BOOL" ? type_at - 1 : type_at);
  }
  return flags;
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(const Catalog& catalog, absl::string_view name) {
  std::vector<std::string> shells;
  const Shell* shell = nullptr;
  for (const Shell& known : kShells) {
    shells.push_back(known.name);
    if (name == known.name) shell = &known;
  }
  if (shell == nullptr) {
    return Invalid("there is no completion script for \"", name, "\", only for ",
                   absl::StrJoin(shells, ", "));
  }
  std::vector<std::string> groups = catalog.Groups();
  groups.push_back(kSimulatedGroup);
  std::string rows, versions, values;
  const auto add = [&rows](const char* row, absl::string_view after, const auto& words) {
    absl::SubstituteAndAppend(&rows, row, after, absl::StrJoin(words, " "));
  };
  // The values of each flag that takes an enum.
  std::map<std::string, std::set<std::string>> enums;
  for (const std::string& group : groups) {
    // The fields of each method in all its versions, keyed by the method's name.
    std::map<std::string, std::set<std::string>> fields;
    const std::vector<std::string> known = catalog.Versions(group);
    if (!known.empty()) {
      absl::SubstituteAndAppend(&versions, shell->versions, group, absl::StrJoin(known, " "));
    }
    for (const std::string& version : known) {
      for (const Method& method : catalog.Methods(group, version)) {
        const std::vector<std::string> flags = Completed(*method.descriptor->input_type());
        fields[KebabCase(method.descriptor->name())].insert(flags.begin(), flags.end());
        for (const FieldFlag& field : FieldsAsFlags(*method.descriptor->input_type())) {
          if (field.field->enum_type() == nullptr) continue;
          const std::pair<absl::string_view, absl::string_view> parts =
              absl::StrSplit(field.flag, absl::MaxSplits('=', 1));
          for (const absl::string_view value : absl::StrSplit(parts.second, '|')) {
            enums[std::string(parts.first)].emplace(value);
          }
        }
      }
    }
    std::vector<std::string> names;
    for (const auto& [method, flags] : fields) {
      names.push_back(method);
      add(shell->after_and_later, absl::StrCat(group, " ", method), flags);
    }
    for (const char* before : {"", "describe ", "help "}) {
      add(shell->after, absl::StrCat(before, group), names);
    }
  }
  for (const auto& [flag, names] : enums) {
    absl::SubstituteAndAppend(&values, shell->values, flag, absl::StrJoin(names, " "));
  }
  std::vector<std::string> commands = groups;
  for (const Command& command : OwnCommands()) {
    commands.push_back(command.name);
    if (command.options == nullptr) continue;
    add(shell->after_and_later, command.name, Completed(*command.options()));
  }
  return shell->opening +
         absl::StrReplaceAll(shell->script, {{"{commands}", absl::StrJoin(commands, " ")},
                                             {"{groups}", absl::StrJoin(groups, " ")},
                                             {"{shells}", absl::StrJoin(shells, " ")},
                                             {"{methods}", rows},
                                             {"{versions}", versions},
                                             {"{values}", values},
                                             {"{kinds}", absl::StrJoin(diagnose::kKinds, " ")},
                                             {"{outputs}", absl::StrJoin(kOutputs, " ")},
                                             {"{flags}", absl::StrJoin(OwnFlags(), " ")}});
}

}  // namespace csi_proxy::ctl
