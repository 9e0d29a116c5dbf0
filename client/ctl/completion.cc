// Completion scripts for shells.
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/command_line.h"
#include "client/ctl/commands.h"
#include "client/ctl/diagnose/look.h"
#include "client/ctl/request.h"

namespace csi_proxy::ctl {
namespace {

// The script, except for its tables. zsh runs it in its emulation of bash, which has no compopt.
constexpr char kScript[] = R"(_csi_proxyctl() {
  local cur=${COMP_WORDS[COMP_CWORD]} words="" flags="{flags}"
  case "${COMP_WORDS[*]:1:COMP_CWORD-1}" in
    "") words="{commands}" ;;
    *" -o"|*" --output"|*" --output =") words="{outputs}" ;;
    describe|help) words="{groups}" ;;
    completion) words="bash zsh" ;;
{methods}    *) words=$flags ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _csi_proxyctl csi-proxyctl
)";

// Returns a field's flag for completion: up to its `=`, or without it for a boolean.
std::string Completed(const std::string& flag) {
  const size_t equals = flag.find('=');
  return flag.substr(equals + 1) == "BOOL" ? flag.substr(0, equals) : flag.substr(0, equals + 1);
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(const Catalog& catalog, absl::string_view shell) {
  if (shell != "bash" && shell != "zsh") {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no completion script for \"", shell, "\", only for bash and zsh"));
  }
  std::vector<std::string> groups = catalog.Groups();
  groups.push_back(kSimulatedGroup);
  std::string methods;
  for (const std::string& group : groups) {
    // A method that several versions have is offered the fields of all of them.
    std::map<std::string, std::set<std::string>> fields;
    for (const std::string& version : catalog.Versions(group)) {
      for (const Method& method : catalog.Methods(group, version)) {
        std::set<std::string>& flags = fields[KebabCase(method.descriptor->name())];
        for (const std::string& flag : FieldFlags(*method.descriptor->input_type())) {
          flags.insert(Completed(flag));
        }
      }
    }
    std::vector<std::string> names;
    for (const auto& [name, flags] : fields) {
      names.push_back(name);
      const std::string command = absl::StrCat(group, " ", name);
      absl::StrAppend(&methods, "    \"", command, "\"|\"", command, " \"*) words=\"",
                      absl::StrJoin(flags, " "), " $flags\" ;;\n");
    }
    absl::StrAppend(&methods, "    ", group, "|\"describe ", group, "\"|\"help ", group,
                    "\") words=\"", absl::StrJoin(names, " "), "\" ;;\n");
  }
  // bash splits words at `=`.
  absl::StrAppend(&methods, "    \"repair \"*\"--what =\") words=\"",
                  absl::StrJoin(diagnose::kKinds, " "), "\" ;;\n");
  std::vector<std::string> words = groups;
  for (const Command& command : OwnCommands()) {
    words.push_back(command.name);
    if (command.flags == nullptr) continue;
    std::vector<std::string> completed;
    for (const std::string& flag : command.flags()) completed.push_back(Completed(flag));
    absl::StrAppend(&methods, "    \"", command.name, "\"|\"", command.name, " \"*) words=\"",
                    absl::StrJoin(completed, " "), " $flags\" ;;\n");
  }
  const std::string script =
      absl::StrReplaceAll(kScript, {{"{commands}", absl::StrJoin(words, " ")},
                                    {"{groups}", absl::StrJoin(groups, " ")},
                                    {"{methods}", methods},
                                    {"{outputs}", absl::StrJoin(kOutputs, " ")},
                                    {"{flags}", absl::StrJoin(OwnFlags(), " ")}});
  return shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" + script : script;
}

}  // namespace csi_proxy::ctl
