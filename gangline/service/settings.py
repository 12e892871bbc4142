"""The only loader of settings: one frozen Struct per service becomes options, variables, a file and their manual.

Strength, strongest first: options (`--http-address X`), variables (`GANGLINE_HTTP_ADDRESS`), the YAML file named by
`--config` or `GANGLINE_CONFIG` (key `http-address`), the default in the Struct. Every error of every source is
reported at once.

A service declares its settings, and reads them in its composition root:

```python
class Settings(ProcessSettings, frozen=True, kw_only=True):
    http_address: HttpAddress = "127.0.0.1:8080"
    scoring: Annotated[Scoring, Setting("Fill nodes one by one, or spread over them.")] = Scoring.PACK
    hold_s: Annotated[float, Setting("How long a lost member's room is kept.", unit="seconds"), Meta(ge=0)] = 30.0


try:
    settings = load(Settings, sys.argv[1:], os.environ, program="gangline-scheduler", description="...")
except SettingsError as error:
    print(error, file=sys.stderr)
    return 2
```

Types: str, int, float, bool, `StrEnum`, `Literal`, `tuple[str, ...]` (the option repeats, the variable is separated by
commas). Bounds are `msgspec.Meta(ge=, gt=, le=, lt=)`; any other rule is the `check` of a `Setting`.
"""

import argparse
import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, get_args

import msgspec
import yaml
from msgspec import Struct

from gangline.service import setting_values

S = TypeVar("S", bound=Struct)

PREFIX: Final = "GANGLINE_"
_SERVICE_LINK: Final = re.compile(r"_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?$")
"""Variables that a kubelet sets for the Services of a namespace: one named `gangline-scheduler` looks like ours."""
_REFUSED_VARIABLES: Final = ("PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir")
"""Mere presence switches prometheus-client to files shared by processes, where metrics are lost without a word."""


class Setting:
    """What a settings field says of itself; stands in its `Annotated`.

    `check` raises ValueError with what is legal. No setting is a secret: values are printed.
    """

    def __init__(
        self,
        description: str,
        *,
        unit: str = "",
        metavar: str = "",
        check: Callable[[Any], None] | None = None,
    ) -> None:
        self.description = description
        self.unit = unit
        self.metavar = metavar
        self.check = check


class Problem(Struct, frozen=True):
    """One thing that is wrong: where it stands, what is wrong with it and what would be right."""

    source: str
    message: str

    def __str__(self) -> str:
        return f"{self.source}: {self.message}"


class SettingsError(Exception):
    """The settings cannot be used; `problems` holds everything that is wrong with them."""

    def __init__(self, program: str, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [f"{program}: the settings cannot be used; --help lists them all", *map(str, problems)]
        super().__init__("\n  ".join(lines))


class Field(Struct, frozen=True):
    """A settings field with its names in every source."""

    name: str
    type: Any
    default: Any
    setting: Setting

    @property
    def key(self) -> str:
        """Name in the file; the option is `--` and this."""
        return self.name.replace("_", "-")

    @property
    def option(self) -> str:
        """Name on the command line."""
        return f"--{self.key}"

    @property
    def variable(self) -> str:
        """Name in the environment."""
        return PREFIX + self.name.upper()

    @property
    def legal(self) -> str:
        """What values are legal, with the unit."""
        words = setting_values.legal(self.type) if self.setting.check is None else self.setting.metavar
        return f"{words}, {self.setting.unit}" if self.setting.unit else words

    @property
    def default_text(self) -> str:
        """The default as a user would type it."""
        return setting_values.shown(self.default)


class _Given(Struct, frozen=True):
    """A raw value and where it came from."""

    source: str
    raw: object


def fields(type_: type[Struct]) -> tuple[Field, ...]:
    """Return the fields of a settings Struct in order. Raises TypeError for one without default or `Setting`."""
    found = []
    for info in msgspec.structs.fields(type_):
        settings = [note for note in get_args(info.type) if isinstance(note, Setting)]
        if not settings or info.default is msgspec.NODEFAULT:
            raise TypeError(f"{type_.__name__}.{info.name} needs a Setting(...) and a default")
        found.append(Field(info.name, info.type, info.default, settings[0]))
    return tuple(found)


def load(type_: type[S], argv: Sequence[str], environ: Mapping[str, str], *, program: str, description: str) -> S:
    """Read the settings from options, variables and the file.

    Raises SettingsError with everything that is wrong. `--help` prints the manual and exits with 0.
    """
    known = fields(type_)
    problems: list[Problem] = []
    strong = _given_by_variables(known, environ, problems) | _given_by_options(
        known, argv, problems, program=program, description=description
    )
    given = (_given_by_file(known, strong["config"], problems) if "config" in strong else {}) | strong
    values = {field.name: value for field in known if (value := _value(field, given, problems)) is not None}
    if problems:
        raise SettingsError(program, problems)
    return type_(**values)


def _value(field: Field, given: Mapping[str, _Given], problems: list[Problem]) -> Any:
    if field.name not in given:
        return None
    source, raw = given[field.name].source, given[field.name].raw
    try:
        return setting_values.convert(field.type, raw, field.setting.check)
    except ValueError as error:
        unit = f" ({field.setting.unit})" if field.setting.unit else ""
        problems.append(Problem(source, f"{raw!r} is not legal; legal is {error}{unit}"))
        return None


def _given_by_options(
    known: Sequence[Field], argv: Sequence[str], problems: list[Problem], *, program: str, description: str
) -> dict[str, _Given]:
    parser = _parser(known, program=program, description=description)
    try:
        parsed, unknown = parser.parse_known_args(_with_values(known, argv, problems))
    except _UsageError as error:
        problems.append(Problem("command line", str(error)))
        return {}
    for option in unknown:
        name = option.partition("=")[0]
        problems.append(Problem(f"option {name}", _unknown(name, [field.option for field in known])))
    return {
        field.name: _Given(f"option {field.option}", texts if setting_values.is_repeatable(field.type) else texts[-1])
        for field in known
        if (texts := getattr(parsed, field.name)) is not None
    }


def _with_values(known: Sequence[Field], argv: Sequence[str], problems: list[Problem]) -> list[str]:
    """Leave out options whose value is missing: argparse would report the first of them and nothing else."""
    takes_value = {field.option: field for field in known if setting_values.bare(field.type) is not bool}
    kept = []
    for word, after in zip_longest(argv, argv[1:], fillvalue="--"):
        if word in takes_value and after.startswith("--"):
            problems.append(Problem(f"option {word}", f"a value is missing; legal is {takes_value[word].legal}"))
        else:
            kept.append(word)
    return kept


def _given_by_variables(
    known: Sequence[Field], environ: Mapping[str, str], problems: list[Problem]
) -> dict[str, _Given]:
    by_variable = {field.variable: field for field in known}
    for name in sorted(environ):
        if name in _REFUSED_VARIABLES:
            problems.append(Problem(f"variable {name}", "must not be set: these metrics are kept by one process alone"))
        elif name.startswith(PREFIX) and name not in by_variable and not _SERVICE_LINK.search(name):
            problems.append(Problem(f"variable {name}", _unknown(name, by_variable)))
    return {
        field.name: _Given(f"variable {name}", environ[name]) for name, field in by_variable.items() if name in environ
    }


def _given_by_file(known: Sequence[Field], config: _Given, problems: list[Problem]) -> dict[str, _Given]:
    path = str(config.raw)
    if not path:
        return {}
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        problems.append(Problem(config.source, f"{path!r} cannot be read: {_one_line(error)}"))
        return {}
    if document is None:
        return {}
    if not isinstance(document, dict):
        problems.append(Problem(f"file {path}", "must hold keys and values, as in `http-address: 127.0.0.1:8080`"))
        return {}
    by_key = {field.key: field for field in known if field.name != "config"}
    problems += [
        Problem(f"file {path}, key {key}", _unknown(str(key), by_key)) for key in document if key not in by_key
    ]
    return {by_key[key].name: _Given(f"file {path}, key {key}", raw) for key, raw in document.items() if key in by_key}


def _unknown(name: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return "is not known; " + (f"did you mean {nearest[0]}?" if nearest else "see --help for what is")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


class _UsageError(Exception):
    """What argparse found wrong."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(message)


def _parser(known: Sequence[Field], *, program: str, description: str) -> _Parser:
    parser = _Parser(
        prog=program,
        description=description,
        allow_abbrev=False,
        usage="%(prog)s [options]",
        epilog="Options are stronger than variables, variables than the file of --config. "
        "A key of the file is an option without its dashes.",
    )
    for field in known:
        is_flag = setting_values.bare(field.type) is bool
        parser.add_argument(
            field.option,
            dest=field.name,
            action="append",
            nargs="?" if is_flag else None,
            const="true" if is_flag else None,
            metavar=_metavar(field),
            help=_help(field).replace("%", "%%"),
        )
    return parser


def _metavar(field: Field) -> str:
    if named := setting_values.choices(field.type):
        return "|".join(named)
    return field.setting.metavar or {int: "N", float: "X"}.get(setting_values.bare(field.type), "TEXT")


def _help(field: Field) -> str:
    repeats = " May be given several times." if setting_values.is_repeatable(field.type) else ""
    unit = f"in {field.setting.unit}; " if field.setting.unit else ""
    return f"{field.setting.description}{repeats} [{unit}default: {field.default_text}; {field.variable}]"


def markdown(type_: type[Struct]) -> str:
    """Render the manual of a settings Struct as a Markdown table."""
    rows = [
        f"| `{field.option}` | `{field.variable}` | `{field.default_text}` | {field.legal} | {field.setting.description} |"
        for field in fields(type_)
    ]
    head = ["| Option | Variable | Default | Legal | What it does |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *(row.replace("||", "|") for row in rows)]) + "\n"
