from pathlib import Path

import pytest

from tests.mutants.run import Mutant, judged, mutants

SOURCE = "def double(x):\n    return x + x\n"
TEST = "from gangline.double import double\n\ndef test_double():\n    assert double(3) == 6\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {"gangline/__init__.py": "", "gangline/double.py": SOURCE, "tests/test_double.py": TEST}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "test", "problem"),
    [
        ("x + x", "x + 1", "tests/test_double.py", ""),
        ("x + x", "2 * x", "tests/test_double.py", "survives: tests/test_double.py did not notice that sums are wrong"),
        ("x - x", "2 * x", "tests/test_double.py", "does not apply: its old text stands 0 times in gangline/double.py"),
        ("x", "y", "tests/test_double.py", "does not apply: its old text stands 3 times in gangline/double.py"),
        ("x + x", "(", "tests/test_double.py", "its tests cannot run (exit code 2)"),
        ("x + x", "x + 1", "tests/test_other.py", "its tests cannot run (exit code 4)"),
    ],
    ids=["killed", "survives", "gone", "ambiguous", "does not import", "no such test"],
)
def test_a_mutant_is_killed_only_by_a_test_that_ran_and_failed(
    tree: Path, old: str, new: str, test: str, problem: str
) -> None:
    verdict = judged("name", Mutant("gangline/double.py", old, new, [test], "sums are wrong"), root=tree)

    assert verdict.problem.startswith(problem)
    assert bool(verdict.problem) == bool(problem)
    assert (tree / "gangline/double.py").read_text() == SOURCE


def test_a_name_stands_for_one_mutant(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text('[twice]\nfile = "f"\nold = "o"\nnew = "n"\ntests = []\nbreaks = "b"\n')

    with pytest.raises(SystemExit, match=r"b\.toml: names used before: twice"):
        mutants(tmp_path)
