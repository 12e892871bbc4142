from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from gangline.service.setting_values import check_address
from gangline.service.settings import Setting, SettingsError, fields, load, markdown


class Scoring(StrEnum):
    PACK = "pack"
    SPREAD = "spread"


class Settings(Struct, frozen=True, kw_only=True):
    config: Annotated[str, Setting("A file.")] = ""
    http_address: Annotated[str, Setting("Where.", metavar="HOST:PORT", check=check_address)] = "127.0.0.1:8080"
    scheduler_name: Annotated[tuple[str, ...], Setting("Whose pods.")] = ("gangline",)
    workers: Annotated[int, Setting("How many."), Meta(ge=1, le=64)] = 8
    hold_s: Annotated[float, Setting("How long.", unit="seconds"), Meta(ge=0)] = 30.0
    budgets: Annotated[bool, Setting("Read budgets; 100% off by default.")] = False
    scoring: Annotated[Scoring, Setting("How.")] = Scoring.PACK
    log_format: Annotated[Literal["json", "console"], Setting("Form.")] = "json"
    comment: Annotated[str, Setting("Any words.")] = "none"


def read(*argv: str, **environ: str) -> Settings:
    return load(Settings, argv, environ, program="program", description="What it does.")


def problems(*argv: str, **environ: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(*argv, **environ)
    return [str(problem) for problem in caught.value.problems]


def written(directory: Path, text: str) -> str:
    path = directory / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_defaults_hold_where_nothing_is_given() -> None:
    assert read() == Settings()


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--http-address", "[::1]:0"], Settings(http_address="[::1]:0")),
        (["--http-address=localhost:65535"], Settings(http_address="localhost:65535")),
        (["--scheduler-name", "a", "--scheduler-name", "b"], Settings(scheduler_name=("a", "b"))),
        (["--workers", "3"], Settings(workers=3)),
        (["--workers", "3", "--workers", "4"], Settings(workers=4)),
        (["--hold-s", "0.5"], Settings(hold_s=0.5)),
        (["--budgets"], Settings(budgets=True)),
        (["--budgets=false"], Settings(budgets=False)),
        (["--scoring", "spread"], Settings(scoring=Scoring.SPREAD)),
        (["--log-format", "console"], Settings(log_format="console")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_are_read(argv: list[str], expected: Settings) -> None:
    assert read(*argv) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("GANGLINE_HTTP_ADDRESS", "0.0.0.0:1", Settings(http_address="0.0.0.0:1")),
        ("GANGLINE_SCHEDULER_NAME", "a, b,", Settings(scheduler_name=("a", "b"))),
        ("GANGLINE_WORKERS", "3", Settings(workers=3)),
        ("GANGLINE_BUDGETS", "true", Settings(budgets=True)),
        ("GANGLINE_CONFIG", "", Settings()),
        ("GANGLINE_SCHEDULER_SERVICE_HOST", "10.0.0.1", Settings()),
        ("GANGLINE_SCHEDULER_PORT_8080_TCP_ADDR", "10.0.0.1", Settings()),
        ("GANGLINE_SCHEDULER_PORT", "tcp://10.0.0.1:8080", Settings()),
        ("OTHER", "x", Settings()),
    ],
)
def test_variables_are_read(name: str, text: str, expected: Settings) -> None:
    assert read(**{name: text}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http-address: 127.0.0.1:1", Settings(http_address="127.0.0.1:1")),
        ("scheduler-name: [a, b]", Settings(scheduler_name=("a", "b"))),
        ("workers: 3\nhold-s: 2\nbudgets: true", Settings(workers=3, hold_s=2.0, budgets=True)),
        ("scoring: spread", Settings(scoring=Scoring.SPREAD)),
        ("comment: 1234", Settings(comment="1234")),
        ("", Settings()),
    ],
)
def test_the_file_is_read(tmp_path: Path, text: str, expected: Settings) -> None:
    path = written(tmp_path, text)

    settings = read("--config", path)

    assert settings == Settings(
        **{name: getattr(expected, name) for name in Settings.__struct_fields__} | {"config": path}
    )


def test_options_beat_variables_beat_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "workers: 1\nhold-s: 1\nscoring: spread")

    settings = read("--workers", "3", GANGLINE_CONFIG=path, GANGLINE_WORKERS="2", GANGLINE_HOLD_S="2")

    assert settings == Settings(config=path, workers=3, hold_s=2.0, scoring=Scoring.SPREAD)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--workers", "many"], "option --workers: 'many' is not legal; legal is a whole number from 1 up to 64"),
        (["--workers", "0"], "option --workers: '0' is not legal; legal is a whole number from 1 up to 64"),
        (["--workers", "1.5"], "option --workers: '1.5' is not legal; legal is a whole number from 1 up to 64"),
        (["--hold-s", "-1"], "option --hold-s: '-1' is not legal; legal is a number from 0 (seconds)"),
        (["--hold-s", "nan"], "option --hold-s: 'nan' is not legal; legal is a number from 0 (seconds)"),
        (["--hold-s", "inf"], "option --hold-s: 'inf' is not legal; legal is a number from 0 (seconds)"),
        (["--budgets=perhaps"], "option --budgets: 'perhaps' is not legal; legal is one of true, false"),
        (["--scoring", "Pack"], "option --scoring: 'Pack' is not legal; legal is one of pack, spread"),
        (["--log-format", "xml"], "option --log-format: 'xml' is not legal; legal is one of json, console"),
        (["--workers"], "option --workers: a value is missing; legal is a whole number from 1 up to 64"),
        (["--workers", "--budgets"], "option --workers: a value is missing; legal is a whole number from 1 up to 64"),
        (["--comment", "--log-format=xml"], "option --comment: a value is missing; legal is a text"),
        (["--workers", "-x"], "command line: argument --workers: expected one argument"),
        (["--wrokers", "3"], "option --wrokers: is not known; did you mean --workers?"),
        (["--wrokers=3"], "option --wrokers: is not known; did you mean --workers?"),
        (["--work", "3"], "option --work: is not known; did you mean --workers?"),
        (["--qqqq"], "option --qqqq: is not known; see --help for what is"),
        (["stray"], "option stray: is not known; see --help for what is"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_is_named_with_what_is_legal(argv: list[str], expected: str) -> None:
    assert expected in problems(*argv)


@pytest.mark.parametrize(
    "address",
    ["8080", ":8080", "host:", "host:http", "host:65536", "host:-1", "::1:80", "host:\N{SUPERSCRIPT TWO}", ""],
)
def test_a_wrong_address_is_refused(address: str) -> None:
    (problem,) = problems("--http-address", address)

    assert problem.startswith(f"option --http-address: {address!r} is not legal; legal is HOST:PORT")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (
            {"GANGLINE_WORKERS": "x"},
            "variable GANGLINE_WORKERS: 'x' is not legal; legal is a whole number from 1 up to 64",
        ),
        ({"GANGLINE_WORKER": "3"}, "variable GANGLINE_WORKER: is not known; did you mean GANGLINE_WORKERS?"),
        (
            {"PROMETHEUS_MULTIPROC_DIR": "/somewhere"},
            "variable PROMETHEUS_MULTIPROC_DIR: must not be set: these metrics are kept by one process alone",
        ),
    ],
)
def test_a_wrong_variable_is_named(environ: dict[str, str], expected: str) -> None:
    assert problems(**environ) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("worker: 3", "key worker: is not known; did you mean workers?"),
        ("config: other.yaml", "key config: is not known; see --help for what is"),
        ("3: x", "key 3: is not known; see --help for what is"),
        ("workers: [1]", "key workers: [1] is not legal; legal is a whole number from 1 up to 64"),
        ("workers: true", "key workers: True is not legal; legal is a whole number from 1 up to 64"),
        ("workers:", "key workers: None is not legal; legal is a whole number from 1 up to 64"),
        ("http-address: 8080", "key http-address: 8080 is not legal; legal is HOST:PORT"),
        ("scheduler-name: [a, {b: c}]", "key scheduler-name: ['a', {'b': 'c'}] is not legal; legal is a list of texts"),
        ("- a", "must hold keys and values"),
    ],
)
def test_a_wrong_key_of_the_file_is_named_with_the_file(tmp_path: Path, text: str, expected: str) -> None:
    path = written(tmp_path, text)

    (problem,) = problems("--config", path)

    assert problem.startswith(f"file {path}")
    assert expected in problem


@pytest.mark.parametrize("text", ["a: [", "a: 2026-99-99", "[" * 5000], ids=["open", "no date", "deep"])
def test_a_file_that_is_not_there_or_not_yaml_is_named_with_who_named_it(tmp_path: Path, text: str) -> None:
    missing = str(tmp_path / "missing.yaml")
    broken = written(tmp_path, text)

    assert problems(GANGLINE_CONFIG=missing)[0].startswith(f"variable GANGLINE_CONFIG: {missing!r} cannot be read: ")
    assert problems("--config", broken)[0].startswith(f"option --config: {broken!r} cannot be read: ")


def test_all_that_is_wrong_is_reported_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, "scoring: best\nunknown: 1")

    options = ["--workers", "x", "--what", "--config", path, "--scoring", "--comment"]
    found = problems(*options, GANGLINE_HOLD_S="y", GANGLINE_NONE="z")

    assert [problem.partition(":")[0] for problem in found] == [
        "variable GANGLINE_NONE",
        "option --scoring",
        "option --comment",
        "option --what",
        f"file {path}, key unknown",
        "option --workers",
        "variable GANGLINE_HOLD_S",
        f"file {path}, key scoring",
    ]


def test_the_error_as_text_names_the_program_and_every_problem() -> None:
    with pytest.raises(SettingsError) as caught:
        read("--workers", "x", "--what")

    first, *rest = str(caught.value).splitlines()
    assert first.startswith("program: ")
    assert rest == [f"  {problem}" for problem in caught.value.problems]


def test_help_shows_every_setting_and_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        read("--help", "--workers", "many")

    shown = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0
    assert "--hold-s X How long. [in seconds; default: 30; GANGLINE_HOLD_S]" in shown
    assert "--scoring pack|spread How. [default: pack; GANGLINE_SCORING]" in shown
    assert "100% off" in shown
    assert all(field.option in shown and field.variable in shown for field in fields(Settings))


def test_the_manual_has_a_row_for_every_setting() -> None:
    table = markdown(Settings).splitlines()

    assert len(table) == 2 + len(fields(Settings))
    assert "| `--hold-s` | `GANGLINE_HOLD_S` | `30` | a number from 0, seconds | How long. |" in table
    assert "| `--http-address` | `GANGLINE_HTTP_ADDRESS` | `127.0.0.1:8080` | HOST:PORT | Where. |" in table


def test_a_field_without_a_description_is_a_programming_error() -> None:
    class Bare(Struct):
        workers: int = 1

    with pytest.raises(TypeError, match=r"Bare\.workers needs a Setting"):
        load(Bare, [], {}, program="program", description="")
