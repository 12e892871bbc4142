"""Documents: Kubernetes objects in YAML or JSON files, each with the place where it stands."""

import sys
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import yaml
from msgspec import Struct

STDIN: Final = "-"
KUSTOMIZATIONS: Final = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
_MERGE: Final = "<<"
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


class Place(Struct, frozen=True):
    """Where an object begins: file, line, and which document of the file (from 1)."""

    file: str
    line: int
    document: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Document(Struct, frozen=True):
    """One object as it was written."""

    place: Place
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.body.get("kind") or "")

    @property
    def api_version(self) -> str:
        """Its apiVersion."""
        return str(self.body.get("apiVersion") or "")

    @property
    def name(self) -> str:
        """Its name, or the prefix of the name that it will get."""
        return str(self.metadata.get("name") or self.metadata.get("generateName") or "")

    @property
    def is_of_a_cluster(self) -> bool:
        """Whether an API server wrote it, and not a person."""
        return bool(self.metadata.get("uid"))

    @property
    def metadata(self) -> dict[str, Any]:
        """Its metadata, empty where it has none."""
        return _mapping(self.body.get("metadata"))

    @property
    def spec(self) -> dict[str, Any]:
        """Its spec, empty where it has none."""
        return _mapping(self.body.get("spec"))


class DocumentError(ValueError):
    """Something that cannot be read as objects; the message says where and why."""


class Reading(Struct, frozen=True):
    """All objects that were read, and one line for each file that cannot be."""

    documents: tuple[Document, ...]
    unreadable: tuple[str, ...]


def read(paths: Iterable[str]) -> Reading:
    """Read files, directories (all YAML and JSON files in them) and `-` for stdin, each once."""
    documents: list[Document] = []
    unreadable: list[str] = []
    for file in dict.fromkeys(file for path in paths for file in _files(path)):
        try:
            documents += parse(*_text(file))
        except DocumentError as error:
            unreadable.append(str(error))
    return Reading(tuple(documents), tuple(unreadable))


def _files(path: str) -> list[str]:
    """Return the files of a directory; anything else as it is, also a directory without any."""
    found = Path(path)
    if not path or path == STDIN or not found.is_dir():
        return [path]
    return [str(each) for each in sorted(found.rglob("*")) if each.suffix in _SUFFIXES] or [path]


def _text(file: str) -> tuple[str, str]:
    """Return what stands in a file, and what to call it. Raises DocumentError."""
    if not file:
        raise DocumentError("a file without a name: is a variable empty?")
    if Path(file).is_dir():
        raise DocumentError(f"{file}: there is no file in it whose name ends in {', '.join(sorted(_SUFFIXES))}")
    try:
        return (sys.stdin.read(), "<stdin>") if file == STDIN else (Path(file).read_text(encoding="utf-8"), file)
    except OSError as error:
        raise DocumentError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{file}: this is no UTF-8: {error}") from error


def parse(text: str, file: str) -> list[Document]:
    """Read every object in a text: several documents, and Lists. Raises DocumentError."""
    try:
        loader = yaml.SafeLoader(text)
        return list(_documents(loader, file))
    except yaml.YAMLError as error:
        raise DocumentError(f"{file}{_yaml_problem(error)}") from error
    except RecursionError as error:
        raise DocumentError(f"{file}: nested too deeply") from error


def _documents(loader: yaml.SafeLoader, file: str) -> Iterator[Document]:
    try:
        for number in count(1):
            if not loader.check_node():
                return
            node = loader.get_node()
            assert node is not None
            yield from _objects(loader, node, file, number)
    finally:
        loader.dispose()


def _objects(loader: Any, node: yaml.Node, file: str, number: int) -> Iterator[Document]:
    place = Place(file, node.start_mark.line + 1, number)
    _refuse_what_no_server_takes(node, file)
    try:
        body = loader.construct_document(node)
    except ValueError as error:  # a date or a number that Python does not have
        raise DocumentError(f"{place}: {error}") from error
    if body is None:
        return
    if not isinstance(body, dict):
        raise DocumentError(f"{place}: document {number} is no object but a {type(body).__name__}")
    if not _is_list(body):
        yield Document(place, body)
        return
    for item, line in zip(body["items"], _lines_of_items(node), strict=True):
        where = Place(file, line, number)
        if not isinstance(item, dict):
            raise DocumentError(f"{where}: this item of a List is no object but a {type(item).__name__}")
        if _is_list(item):
            raise DocumentError(
                f"{where}: a List in a List is not read, by kubectl neither; put its items into the outer one"
            )
        yield Document(where, item)


def _is_list(body: dict[str, Any]) -> bool:
    return str(body.get("kind") or "").endswith("List") and isinstance(body.get("items"), list)


def _refuse_what_no_server_takes(root: yaml.Node, file: str) -> None:
    """Refuse two equal keys, of which YAML keeps the last, and halves of characters. Raises DocumentError."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # an alias stands for what was looked at
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.ScalarNode):
            _join_halves(node, file)
        elif isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                waiting.append(key)
                if isinstance(key, yaml.ScalarNode) and key.value != _MERGE:
                    if key.value in keys:
                        raise DocumentError(f"{file}:{key.start_mark.line + 1}: the key {key.value} stands here twice")
                    keys.add(key.value)
                waiting.append(value)


def _join_halves(node: yaml.ScalarNode, file: str) -> None:
    r"""Make one character of two halves as JSON escapes them, `\ud83d\ude00`. Raises DocumentError."""
    try:
        node.value = node.value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{file}:{node.start_mark.line + 1}: {node.value!a} has half of a character") from error


def _lines_of_items(node: yaml.Node) -> list[int]:
    assert isinstance(node, yaml.MappingNode)
    items = next(value for key, value in node.value if key.value == "items")
    return [item.start_mark.line + 1 for item in items.value]


def _yaml_problem(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f":{error.problem_mark.line + 1}: {error.problem or error}"
    return f": {error}"


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
