"""Break the code on purpose, and fail where no test notices: `python -m tests.mutants.run [WORD ...]`, or `make mutants`.

Each `*.toml` beside this file holds mutants: `file`, the text `old` that stands there once, the text `new` that replaces
it, the `tests` that must notice, and `breaks`, what a user would suffer. A mutant is killed when those tests fail; it is
an error when it does not apply any more, when its tests cannot run, or when they fail without it. With words as
arguments only the mutants run whose name has one of them.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

ROOT: Final = Path(__file__).parent.parent.parent
TREE: Final = ("gangline", "scheduler", "controller", "tests", "manifests", "docs", "pyproject.toml")
HUNG_S: Final = 30.0
"""A test that takes longer under a mutant has noticed it."""
TIMEOUT_S: Final = 300.0
"""So has a run of tests."""
PATIENCE: Final = 10
"""So much longer may they take without a mutant, where a slow machine is no reason to fail."""
SOME_FAILED: Final = 1
"""pytest's exit code where tests ran and some failed; every other one says that they did not run."""


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to break the code."""

    file: str
    old: str
    new: str
    tests: list[str]
    breaks: str


class Verdict(Struct, frozen=True):
    """What became of a mutant; an empty problem means that it was killed."""

    name: str
    seconds: float
    problem: str = ""


def mutants(directory: Path) -> dict[str, Mutant]:
    """Read the mutants of every file in the directory; a name is unique."""
    found: dict[str, Mutant] = {}
    for path in sorted(directory.glob("*.toml")):
        more = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, Mutant])
        if twice := found.keys() & more.keys():
            raise SystemExit(f"{path.name}: names used before: {', '.join(sorted(twice))}")
        found |= more
    return found


def judged(name: str, mutant: Mutant, *, root: Path = ROOT) -> Verdict:
    """Apply a mutant to a copy of the tree, run its tests there, and say what became of it."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        problem = _problem(mutant, _copy_of(root, Path(scratch)))
    return Verdict(name, time.monotonic() - started, problem)


def _problem(mutant: Mutant, tree: Path) -> str:
    source = tree / mutant.file
    text = source.read_text(encoding="utf-8") if source.exists() else ""
    if (times := text.count(mutant.old)) != 1:
        return f"does not apply: its old text stands {times} times in {mutant.file}"
    source.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    code, output = _tested(mutant.tests, tree, patience=1)
    if code == 0:
        return f"survives: {', '.join(mutant.tests)} did not notice that {mutant.breaks}"
    return "" if code in {SOME_FAILED, None} else f"its tests cannot run (exit code {code}):\n{output}"


def _copy_of(root: Path, scratch: Path) -> Path:
    for name in TREE:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, scratch / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, scratch)
    return scratch


def _tested(tests: Iterable[str], tree: Path, *, patience: int) -> tuple[int | None, str]:
    """Run tests in a tree; return pytest's exit code, None where they hung, and the output."""
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", f"--timeout={HUNG_S * patience}"]
    command = [*pytest, "-p", "no:xdist", *tests]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_PROFILE": "ci"}
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S * patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def _sound(chosen: Iterable[Mutant]) -> None:
    """Run the tests that mutants name on the tree as it is: a test that fails anyway kills nothing."""
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    with tempfile.TemporaryDirectory(prefix="mutant-") as scratch:
        code, output = _tested(tests, _copy_of(ROOT, Path(scratch)), patience=PATIENCE)
    if code != 0:
        raise SystemExit(f"without any mutant the tests must pass (exit code {code}):\n{output}")


def main(words: Sequence[str]) -> int:
    """Judge all mutants, or those whose name has one of the words; return 1 where one lives."""
    chosen = {
        name: mutant
        for name, mutant in mutants(Path(__file__).parent).items()
        if not words or any(word in name for word in words)
    }
    if not chosen:
        raise SystemExit("no such mutant")
    _sound(chosen.values())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = []
        for verdict in pool.map(judged, chosen, chosen.values()):
            print(
                f"{'ALIVE ' if verdict.problem else 'killed'} {verdict.seconds:5.1f} s  {verdict.name} {verdict.problem}",
                flush=True,
            )
            verdicts.append(verdict)
    alive = [verdict for verdict in verdicts if verdict.problem]
    print(f"{len(verdicts) - len(alive)} of {len(verdicts)} mutants killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
