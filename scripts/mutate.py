#!/usr/bin/env python3
"""Shows what the tests would miss: changes one line of a source at a time and looks which test fails.

Draws mutants by universalmutator, none of comments or includes, in a work tree below build/, until
--count of them compile to other code. Links each into the tests in turn, those of its library first,
until one fails. Prints each verdict, the survivors and the score.
"""
import argparse, collections, contextlib, io, os, pathlib, random, re, subprocess, sys, time, venv
ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE, VENV, BUILD = ROOT / "build/mutate", ROOT / "build/mutate-venv", ROOT / "build/mutate/build/mutate"
def sh(*args, cwd=BUILD, check=True):
    done = subprocess.run(list(map(str, args)), cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return sys.exit(done.stdout) if check and done.returncode != 0 else done
def outputs(target, ending):
    return [o for o in sh("ninja", "-t", "query", target).stdout.split("outputs:")[1].split() if o.endswith(ending)]
def failing(test, seconds, tests="*"):
    """Returns the name of the first test of a binary that fails; None if all pass."""
    sh("ninja", test)
    done = sh("timeout", seconds, "prlimit", f"--as={4 << 30}", BUILD / test, "--gtest_fail_fast", f"--gtest_filter={tests}", check=False)
    found = [re.findall(rf"^\[ *{word} *\] ([^\s,]+\.[^\s,]+)", done.stdout, re.M) for word in ("FAILED", "RUN")]
    return None if done.returncode == 0 else (found[0][:1] + found[1][-1:] + ["*"])[0]  # crashed: the last that ran
def draw(files, rng):
    """Yields a mutant of each line, in any order: (file, number of the line, its new text)."""
    from universalmutator.mutator import mutants_regexp
    lines = {}
    for file in files:
        source = (TREE / file).read_text().splitlines(keepends=True)
        with contextlib.redirect_stdout(io.StringIO()):
            found = mutants_regexp(source, ["universal", "c_like", "cpp"], ignorePatterns=[r"^\s*//"], ignoreStringOnly=True)
        for number, text, *_ in found:
            line, at = source[number - 1], len(os.path.commonprefix([source[number - 1], text]))
            if at < len(line) and not (line[at] in "<>*&" and line[at - 1] != " "):  # not in a type
                lines.setdefault((file, number), []).append(text)
    for at in rng.sample(sorted(lines), len(lines)):
        yield *at, rng.choice(lines[at])
def judge(object, original, tests):
    compiles = sh("ninja", object, check=False).returncode == 0
    if not compiles or (BUILD / object).read_bytes() == original:
        return "same code" if compiles else "does not compile"
    for test in tests:
        name = failing(test, 60 + 10 * times[test])
        if name and failing(test, 60 + 10 * times[test], name):  # twice, so not by chance
            return f"noticed by {name}"
    return "survived"
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("paths", nargs="+", help="sources, or directories of them")
for option, default in {"count": 20, "seed": 1, "at": "HEAD", "tests": "^server/(groups|host)/"}.items():
    parser.add_argument(f"--{option}", type=type(default), default=default)
args = parser.parse_args()
if not VENV.exists():
    venv.create(VENV, with_pip=True)
    sh(VENV / "bin/pip", "install", "-q", "universalmutator", cwd=ROOT)
sys.path += map(str, VENV.glob("lib/python*/site-packages"))
commit = sh("git", "rev-parse", args.at, cwd=ROOT).stdout.strip()
sh("git", *(["-C", TREE, "checkout", "--force"] if TREE.exists() else ["worktree", "add", TREE]), "--detach", commit, cwd=ROOT)
sh("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG", cwd=ROOT)
files = re.findall(r"^(?!.*_(?:test|windows|posix)\.cc)\S+\.cc$", sh("git", "ls-files", *args.paths, cwd=TREE).stdout, re.M)
objects = {file: outputs(TREE / file, ".o")[0] for file in files}
libraries = {file: outputs(object, ".a")[0] for file, object in objects.items()}
times, verdicts, survivors = {}, collections.Counter(), []
for test in {test for library in set(libraries.values()) for test in outputs(library, "_test") if re.search(args.tests, test)}:
    begin = sh("ninja", test) and time.monotonic()
    failing(test, 3600) and sys.exit(f"{test} fails on {commit}")
    times[test] = time.monotonic() - begin
tests = {library: sorted(set(outputs(library, "_test")) & set(times), key=lambda test, near=os.path.dirname(library): (not test.startswith(near), times[test]))
         for library in set(libraries.values())}
originals = {file: (BUILD / object).read_bytes() for file, object in objects.items()}
for file, number, text in draw(files, random.Random(args.seed)):
    source = (TREE / file).read_text().splitlines(keepends=True)
    change = f"{file}:{number}\n  - {source[number - 1].strip()}\n  + {text.strip()}"
    (TREE / file).write_text("".join(source[:number - 1] + [text] + source[number:]))
    verdict = judge(objects[file], originals[file], tests[libraries[file]])
    (TREE / file).write_text("".join(source))
    verdicts[verdict.split(" by ")[0]] += 1
    survivors += [change] * (verdict == "survived")
    print(f"{change}\n  {verdict}", flush=True)
    if verdicts["noticed"] + verdicts["survived"] == args.count:
        break
print("\nsurvivors:", *survivors, "", *(f"{n:4} {verdict}" for verdict, n in verdicts.most_common()), sep="\n")
print(f"seed {args.seed} at {commit[:8]}: {verdicts['noticed']} of {verdicts['noticed'] + verdicts['survived']} noticed")
