// Checks PowerShell scripts by the grammar of tree-sitter: `node parse.mjs MODULES GROUP...`, where MODULES is the
// folder with its packages, and a GROUP is the scripts that run as one, with commas between them. Prints where a script
// is not valid PowerShell, reads a variable that no script of its group sets, or runs a command that neither a script of
// its group nor Windows defines. Exits with 1 if there is such a place.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, ...groups] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/`));
const { Parser, Language } = require("web-tree-sitter");
await Parser.init();
const parser = new Parser();
parser.setLanguage(
  await Language.load(require.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm")),
);

// The language's own variables, and the commands of Windows PowerShell 5.1 and its modules that the scripts run.
const automatic = new Set(`_ args true false null pid matches lastexitcode erroractionpreference progresspreference
  executioncontext profile psscriptroot pscommandpath psversiontable`.split(/\s+/));
const windows = new Set(`add-fact add-iscsivirtualdisktargetmapping clear-disk convertfrom-json convertto-json
  convertto-securestring copy-item dismount-diskimage expand-archive foreach-object format-list format-table get-childitem
  get-ciminstance get-command get-content get-date get-disk get-diskimage get-filehash get-initiatorport get-item
  get-itemproperty get-localuser get-location get-netipaddress get-partition get-process get-service get-smbglobalmapping
  get-smbshare get-volume get-winevent initialize-disk install-windowsfeature invoke-cimmethod invoke-expression
  invoke-webrequest join-path mount-diskimage new-iscsiservertarget new-iscsivirtualdisk new-item new-localuser new-object
  new-service new-smbshare new-vhd out-null out-string register-argumentcompleter remove-item remove-iscsiservertarget remove-iscsivirtualdisk
  remove-iscsivirtualdisktargetmapping remove-localuser remove-smbglobalmapping remove-smbshare resize-iscsivirtualdisk
  resolve-path restart-service select-object select-string set-content set-disk set-iscsiservertarget set-item
  set-itemproperty set-localuser set-service set-strictmode sort-object split-path start-service start-sleep stop-process
  stop-service test-path unblock-file where-object write-host`.split(/\s+/));

let problems = 0;
function complain(script, node, text) {
  console.error(`${script}:${node.startPosition.row + 1}:${node.startPosition.column + 1}: ${text}`);
  ++problems;
}
const nameOf = (variable) => variable.text.replace(/^[$@]\{?(script:|global:|using:)?/i, "").replace(/\}$/, "").toLowerCase();
const isSet = (node) => {
  for (let at = node, above = node.parent; above; at = above, above = above.parent) {
    if (above.type === "left_assignment_expression" || above.type === "script_parameter") return true;
    if (above.type === "foreach_statement") return above.namedChildren.find((child) => child.type === "variable")?.id === at.id;
    if (above.type === "sub_expression" || above.type === "script_block") return false;
  }
  return false;
};

for (const group of groups) {
  const set = new Set(automatic);
  const defined = new Set(windows);
  const reads = [];
  const calls = [];
  for (const script of group.split(",")) {
    const visit = (node) => {
      if (node.type === "ERROR" || node.isMissing) {
        complain(script, node, `is no PowerShell: ${node.text.slice(0, 80)}`);
        return;
      }
      if (node.type === "variable" && !/^[$@]\{?env:/i.test(node.text)) {
        if (isSet(node)) set.add(nameOf(node));
        else reads.push([script, node, nameOf(node)]);
      }
      if (node.type === "function_name") defined.add(node.text.toLowerCase());
      if (node.type === "command_name" && /^[A-Za-z]+-[A-Za-z]+$/.test(node.text)) calls.push([script, node, node.text.toLowerCase()]);
      for (const child of node.children) visit(child);
    };
    visit(parser.parse(readFileSync(script, "utf8")).rootNode);
  }
  for (const [script, node, name] of reads) if (!set.has(name)) complain(script, node, `$${name} is set nowhere`);
  for (const [script, node, name] of calls) if (!defined.has(name)) complain(script, node, `there is no command ${name}`);
}
process.exit(problems === 0 ? 0 : 1);
