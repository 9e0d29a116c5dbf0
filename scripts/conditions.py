#!/usr/bin/env python3
"""Shows which conditions the tests do not need: forces one at a time to true, and to false.

A condition is that of an `if` or `?:`, or an operand of && or ||. libclang finds them, and a copy of the sources
below build/ calls Force() for each, so that one build serves all. Records the values of each condition in each test
case. Then forces it in the test cases in which it has the other value, the quickest first, until one fails. Prints
each verdict, those not noticed, and the score. build/conditions.json keeps the verdicts: an interrupted run
continues, and a run after a change of the tests repeats only the conditions that no test had noticed.
"""
import argparse, collections, concurrent.futures, ctypes, json, os, pathlib, re, subprocess, sys, tempfile, time, venv
ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE, BUILD, VENV, KEPT = (ROOT / "build" / name for name in ("conditions", "conditions/build/conditions", "conditions-venv", "conditions.json"))
HEADER = """#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
namespace csi_condition { inline bool Force(long number, bool natural) {
  static const char* const forced = std::getenv("CONDITION");  // such as 12=0
  static const char* const log = std::getenv("CONDITION_LOG");  // a shared mapping, which outlives a crash
  static const int file = log ? ::open(log, O_RDWR) : -1;
  static void* const seen = log && ::ftruncate(file, %d) == 0 ? ::mmap(nullptr, %d, PROT_WRITE, MAP_SHARED, file, 0) : nullptr;
  if (seen) static_cast<volatile char*>(seen)[2 * number + natural] = 1;
  return forced && std::atol(forced) == number ? std::strchr(forced, '=')[1] == '1' : natural;
}}
"""
Site = collections.namedtuple("Site", "file start end line text")
def sh(*args, cwd=BUILD, check=True):
    done = subprocess.run(list(map(str, args)), cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return sys.exit(done.stdout) if check and done.returncode != 0 else done
def outputs(target, ending):
    return [o for o in sh("ninja", "-t", "query", target).stdout.split("outputs:")[1].split() if o.endswith(ending)]
def extent(cursor):
    """Returns where a cursor begins and ends in the file, also within the argument of a macro."""
    at = [ctypes.c_uint(), ctypes.c_uint()]
    for place, out in zip((cursor.extent.start, cursor.extent.end), at):
        cindex.conf.lib.clang_getFileLocation(place, None, None, None, ctypes.byref(out))
    return at[0].value, at[1].value
def find(file, flags):
    """Returns the conditions of a source. An operator of conditions is none itself."""
    kinds, source, sites, name = cindex.CursorKind, sources[file], set(), str(TREE / file)
    unit = cindex.Index.create().parse(name, flags, options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    [sys.exit(f"{fault}") for fault in unit.diagnostics if fault.severity >= fault.Error]
    own = [cursor for cursor in unit.cursor.get_children() if cursor.location.file and cursor.location.file.name == name]
    macros = {extent(cursor)[0] for cursor in own if cursor.kind == kinds.MACRO_INSTANTIATION}
    def between(first, second):
        return re.sub(rb"//.*|\s", b"", source[extent(first)[1]:extent(second)[0]])
    def is_operator(cursor):
        sides = list(cursor.get_children())
        if len(sides) == 1 and (cursor.kind in (kinds.PAREN_EXPR, kinds.UNEXPOSED_EXPR) or source[extent(cursor)[0]] == ord("!")):
            return is_operator(sides[0])
        return cursor.kind == kinds.BINARY_OPERATOR and between(*sides) in (b"&&", b"||")
    for cursor in (inner for outer in own for inner in outer.walk_preorder()):
        children, found = list(cursor.get_children()), []
        if cursor.kind == kinds.IF_STMT and not re.match(rb"if\s+constexpr", source[extent(cursor)[0]:]):
            found = [condition for condition, then in zip(children, children[1:]) if between(condition, then) == b")"]
        elif cursor.kind == kinds.CONDITIONAL_OPERATOR or cursor.kind == kinds.BINARY_OPERATOR and is_operator(cursor):
            found = children[:1 if cursor.kind == kinds.CONDITIONAL_OPERATOR else 2]
        for condition in found:
            start, end = extent(condition)
            is_macro = start in macros or re.search(rb"\w*$", source[:end]).start() in macros
            is_constant = {inner.kind for inner in condition.walk_preorder()}.isdisjoint({kinds.DECL_REF_EXPR, kinds.MEMBER_REF_EXPR, kinds.CALL_EXPR})
            if condition.kind.is_expression() and start < end and not (is_macro or is_constant or is_operator(condition)):
                sites.add(Site(file, start, end, source.count(b"\n", 0, start) + 1, re.sub(r"\s+", " ", source[start:end].decode())))
    return sorted(sites)
def instrument(file):
    text, edits = sources[file], []  # of two conditions at one place the outer begins first, and ends last
    for number, site in enumerate(sites):
        if site.file == file and number not in dropped:
            edits += [(site.start, 1, -site.end, b"::csi_condition::Force(%d, static_cast<bool>(" % number), (site.end, 0, -site.start, b"))")]
    for at, _, _, call in sorted(edits, reverse=True):
        text = text[:at] + call + text[at:]
    (TREE / file).write_bytes(b"%s\n#line 1\n%s" % ((HEADER % (2 * len(sites), 2 * len(sites))).encode(), text))
def run(test, names, seconds, **environment):
    """Returns the name of the first test case that fails; None if all pass."""
    done = subprocess.run(["timeout", f"{seconds}", "prlimit", f"--as={12 << 30}", BUILD / test, "--gtest_fail_fast", f"--gtest_filter={':'.join(names)}"],
                          cwd=BUILD, env=os.environ | environment, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = [re.findall(rf"^\[ *{word} *\] ([^\s,]+\.[^\s,]+)", done.stdout, re.M) for word in ("FAILED", "RUN")]
    return None if done.returncode == 0 else (found[0][:1] + found[1][-1:] + names)[0]  # crashed: the last that ran
def record(case):
    """Runs a test case by itself. Returns its failure, its time, and what it saw: bytes 2n and 2n + 1 of condition n."""
    with tempfile.NamedTemporaryFile() as log:
        begin, failed = time.monotonic(), run(case[0], [case[1]], 60, CONDITION_LOG=log.name)
        return failed, time.monotonic() - begin, log.read() or bytes(2 * len(sites))
def judge(forced):
    (number, value), (text, under) = forced, kept.get(keys[forced], ["", ""])
    if text.startswith("noticed") or under == how:
        return text
    force, left = {"CONDITION": f"{number}={value}"}, [case for case in sorted(cases, key=times.get) if seen[case][2 * number + 1 - value]]
    if not left:
        return f"never {not value}" if any(log[2 * number + value] for log in seen.values()) else "never reached"
    while left:
        test = left[0][0]
        names = [name for other, name in left if other == test][:30]
        failed = run(test, names, 10 + 10 * sum(times[test, name] for name in names), **force)
        if failed and run(test, [failed], 10 + 10 * times[test, failed], **force):  # twice, so not by chance
            return f"noticed by {failed}"
        del names[names.index(failed) + 1 if failed else len(names):]
        left = [case for case in left if case[0] != test or case[1] not in names]
    return "not noticed"
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("paths", nargs="*", default=["server/groups"], help="sources, or directories of them")
for option, default in {"at": "HEAD", "tests": "^server/(groups|host)/", "skip": "RandomNodes|Advice|Crash|FailingCalls|FormatRace|HundredVol"}.items():
    parser.add_argument(f"--{option}", default=default)
args = parser.parse_args()
if not VENV.exists():
    venv.create(VENV, with_pip=True)
    sh(VENV / "bin/pip", "install", "-q", "libclang", cwd=ROOT)
sys.path += map(str, VENV.glob("lib/python*/site-packages"))
from clang import cindex
commit = sh("git", "rev-parse", args.at, cwd=ROOT).stdout.strip()
sh("git", *(["-C", TREE, "checkout", "--force"] if TREE.exists() else ["worktree", "add", TREE]), "--detach", commit, cwd=ROOT)
sh("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
   "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", cwd=ROOT)
files = re.findall(r"^(?!.*_(?:test|windows|posix)\.cc)\S+\.cc$", sh("git", "ls-files", *args.paths, cwd=TREE).stdout, re.M)
commands = {os.path.relpath(entry["file"], TREE): entry["command"] for entry in json.loads((BUILD / "compile_commands.json").read_text())}
sources, sites, dropped = {file: (TREE / file).read_bytes() for file in files if file in commands}, [], set()
libraries = {library for file in sources for library in outputs(outputs(TREE / file, ".o")[0], ".a")}
tests = sorted({test for library in libraries for test in outputs(library, "_test") if re.search(args.tests, test)})
sh("ninja", *(f"cmake_object_order_depends_target_{pathlib.Path(library).stem[3:]}" for library in libraries))  # the generated headers
for file in sources:
    flags = re.findall(r" (-I\S+|-D\S+|-std=\S+|-isystem \S+)", commands[file])
    sites += find(file, " ".join(flags).split() + ["-isystem", sh("g++", "-print-file-name=include").stdout.strip()])
while [instrument(file) for file in sources] and (done := sh("ninja", "-k", "0", *libraries, check=False)).returncode != 0:
    lines = set(re.findall(r"^\S*?([\w-]+\.cc):(\d+):\d+: error: ", done.stdout, re.M))
    wrong = {number for number, site in enumerate(sites) if (os.path.basename(site.file), str(site.line)) in lines} - dropped
    dropped |= wrong or sys.exit(done.stdout)
sh("ninja", *tests)
cases, times, seen, missed, counts, suite = [], {}, {}, [], collections.defaultdict(collections.Counter), None
for test in tests:
    for indent, name in re.findall(r"^(  )?([\w/]+\.?)(?:  #.*)?$", sh(BUILD / test, "--gtest_list_tests").stdout, re.M):
        suite = suite if indent else name
        cases += [(test, suite + name)] * (bool(indent) and not re.search(args.skip or "$^", suite))
keys = {(number, value): f"{site.file} {site.text} {sources[site.file][:site.start].count(site.text.encode())} {value}"
        for number, site in enumerate(sites) if number not in dropped for value in (0, 1)}
how, kept = f"{commit} {args.tests} {args.skip}", json.loads(KEPT.read_text()) if KEPT.exists() else {}
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for case, (failed, times[case], seen[case]) in zip(list(cases), pool.map(record, list(cases))):
        failed and print("left out, because it fails or takes a minute:", cases.pop(cases.index(case))[1])
    for (number, value), found in zip(keys, pool.map(judge, keys)):
        kept[keys[number, value]] = found, how
        KEPT.write_text(json.dumps(kept, indent=0))
        line = f"{sites[number].file}:{sites[number].line}: {sites[number].text} forced to {bool(value)}: {found}"
        counts[os.path.dirname(sites[number].file)][found.split(" by ")[0]] += 1
        missed += [line] * (not found.startswith("noticed"))
        print(line, flush=True)
print("\nnot noticed:", *missed, "", sep="\n")
for folder, found in sorted(counts.items()):
    print(f"{folder}: {found['noticed']} of {found.total()} noticed;", ", ".join(f"{n} {text}" for text, n in found.most_common()))
print(f"{len(sites) - len(dropped)} conditions at {commit[:8]}, {len(dropped)} more do not compile")
