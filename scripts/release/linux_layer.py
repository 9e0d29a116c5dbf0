"""Layers of a Linux image: a program, and Debian's libraries that it is linked with, unchanged, from the
packages of the machine that builds.

For each package the image has the licence, and its entry of dpkg's list, where scanners of images look for
it (https://github.com/GoogleContainerTools/distroless/blob/main/PACKAGE_METADATA.md).
"""

import hashlib
import io
import pathlib
import re
import subprocess
import tarfile

INFO = pathlib.Path("/var/lib/dpkg/info")


def _run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _owner(path):
    """Returns the package of a file. Debian's /lib is a link to /usr/lib, and dpkg lists a file under one of the two."""
    for name in (path, path.removeprefix("/usr"), "/usr" + path):
        found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.partition(": ")[0], name
    raise SystemExit(f"{path}: no package of Debian has it")


def _sums(package):
    """Returns the package's own MD5 sums, by path."""
    for name in (package, package.partition(":")[0]):
        file = INFO / f"{name}.md5sums"
        if file.is_file():
            return {"/" + path: sum_ for sum_, path in (line.split("  ", 1) for line in file.read_text().splitlines())}
    raise SystemExit(f"{package}: dpkg has no sums of its files")


def libraries(program):
    """Returns the files of the loader and of the libraries that it finds, by path, and their packages, by name."""
    files, packages = {}, {}
    # "NAME => PATH (ADDRESS)", and of the loader only its path; linux-vdso has none.
    found = re.findall(r"^\t(?:\S+ => )?(/\S+) \(0x", _run("ldd", str(program)), re.M)
    if not found:
        raise SystemExit(f"{program}: needs no libraries, which is no program of Debian's compiler")
    for path in sorted(found):
        real = str(pathlib.Path(path).resolve())
        package, known = _owner(real)
        content = pathlib.Path(real).read_bytes()
        if _sums(package).get(known) != hashlib.md5(content).hexdigest():
            raise SystemExit(f"{real}: is not the file of the package {package}")
        files[path.lstrip("/")] = content
        name = package.partition(":")[0]
        packages[name] = _run("dpkg-query", "--show", "--showformat=${Version}", package)
        files[f"usr/share/doc/{name}/copyright"] = pathlib.Path(f"/usr/share/doc/{name}/copyright").read_bytes()
        files[f"var/lib/dpkg/status.d/{name}"] = _run("dpkg-query", "--status", package).encode()
    return files, packages


def layer(files, epoch, programs=(), links=None):
    """Returns the tar of a layer: `files` maps paths to bytes, those in `programs` are executable, and `links` maps
    further names to files of this layer."""
    entries = {}
    for path in sorted(files):
        steps = path.split("/")
        for depth in range(1, len(steps)):
            entries.setdefault("/".join(steps[:depth]), None)
        entries[path] = files[path]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.mtime = epoch
            if content is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            else:
                entry.size = len(content)
                entry.mode = 0o755 if name in programs or "/ld-" in name else 0o644
                tar.addfile(entry, io.BytesIO(content))
        for name, target in sorted((links or {}).items()):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mtime, entry.mode, entry.linkname = tarfile.LNKTYPE, epoch, 0o755, target
            tar.addfile(entry)
    return out.getvalue()
