// Parses PowerShell scripts by the grammar of tree-sitter: `node parse.mjs MODULES SCRIPT...`, where
// MODULES is the folder with its packages. Says where a script is no PowerShell; exit code 1 then.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, ...scripts] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/`));
const { Parser, Language } = require("web-tree-sitter");
await Parser.init();
const parser = new Parser();
parser.setLanguage(
  await Language.load(require.resolve("tree-sitter-powershell/tree-sitter-powershell.wasm")),
);

let problems = 0;
function visit(script, node) {
  if (node.type === "ERROR" || node.isMissing) {
    const { row, column } = node.startPosition;
    console.error(`${script}:${row + 1}:${column + 1}: is no PowerShell: ${node.text.slice(0, 80)}`);
    ++problems;
  } else if (node.hasError) {
    for (const child of node.children) visit(script, child);
  }
}
for (const script of scripts) visit(script, parser.parse(readFileSync(script, "utf8")).rootNode);
process.exit(problems === 0 ? 0 : 1);
