"""What two servers' answers in normal form have not in common, and what of that nobody has listed."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from tests.comparison.servers import Answers

_SHOWN_LENGTH: Final = 300

# By `story/request` and place (`body.metadata.name`): what stands there, here and there.
Differences = dict[str, dict[str, str]]


class Known(Struct, frozen=True):
    """Differences that stay, each at the places that it covers with everything below them."""

    reason: str
    places: Mapping[str, tuple[str, ...]]


class Findings(Struct, frozen=True):
    """Differences that are not listed, and listed ones that are not there."""

    unlisted: Differences
    vanished: dict[str, tuple[str, ...]]


def differences(sandbox: Answers, real: Answers) -> Differences:
    """Return what differs; the two must have been asked the same."""
    assert {story: list(requests) for story, requests in sandbox.items()} == {
        story: list(requests) for story, requests in real.items()
    }, "the answers are of other requests: record them anew (python -m tests.comparison.recorded)"
    found = {
        f"{story}/{request}": dict(_between(sandbox[story][request], real[story][request]))
        for story in real
        for request in real[story]
    }
    return {name: places for name, places in found.items() if places}


def findings(found: Differences, known: tuple[Known, ...]) -> Findings:
    """Hold what differs against the list."""
    listed: dict[str, tuple[str, ...]] = {}
    for each in known:
        for name, places in each.places.items():
            listed[name] = listed.get(name, ()) + places
    unlisted = {
        name: {place: text for place, text in places.items() if not _covers(listed.get(name, ()), place)}
        for name, places in found.items()
    }
    vanished = {
        name: tuple(place for place in places if not any(_covers((place,), each) for each in found.get(name, ())))
        for name, places in listed.items()
    }
    return Findings(
        unlisted={name: places for name, places in unlisted.items() if places},
        vanished={name: places for name, places in vanished.items() if places},
    )


def _covers(places: tuple[str, ...], place: str) -> bool:
    return any(place == each or place.startswith((f"{each}.", f"{each}[")) for each in places)


def _between(ours: Any, real: Any, place: str = "") -> Iterator[tuple[str, str]]:
    match ours, real:
        case dict(), dict():
            for key in sorted({**ours, **real}):
                here = f"{place}.{key}" if place else key
                if key not in ours:
                    yield here, f"sandbox has none, real has {_text(real[key])}"
                elif key not in real:
                    yield here, f"sandbox has {_text(ours[key])}, real has none"
                else:
                    yield from _between(ours[key], real[key], here)
        case list(), list() if len(ours) == len(real):
            for index, (mine, other) in enumerate(zip(ours, real, strict=True)):
                yield from _between(mine, other, f"{place}[{index}]")
        case _ if ours != real or type(ours) is not type(real):
            yield place, f"sandbox has {_text(ours)}, real has {_text(real)}"


def _text(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."
