"""The picture of the README is one of the program as it is now, and asks nobody for anything."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from docs import picture

TEXT = "{http://www.w3.org/2000/svg}text"


def words(svg: str) -> list[str]:
    """What the picture says, line by line and left to right, without how long something waits."""
    texts = [
        (float(one.attrib["y"]), float(one.attrib["x"]), one.text or "")
        for one in ET.fromstring(svg).iter(TEXT)  # noqa: S314 - we have drawn it
    ]
    return [" ".join(re.sub(r"\b\d+s\b", "some", text).split()) for _, _, text in sorted(texts)]


def test_it_is_what_a_run_prints_now() -> None:
    kept = picture.PICTURE.read_text(encoding="utf-8")
    advice = "run `make picture`, look at it, and commit it"

    said = "\n".join(words(kept))
    assert [step.title for step in picture.DRAWN if step.title not in said] == [], advice
    assert {"Running", "Scheduling"} <= set(words(kept)), advice


async def test_it_is_drawn_anew_the_same() -> None:
    assert words(await picture.drawn()) == words(picture.PICTURE.read_text(encoding="utf-8")), "run `make picture`"


def test_it_names_no_other_place() -> None:
    svg = picture.PICTURE.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert re.findall(r"//|href|@import|@font-face|<script|<image|<foreignObject", svg) == []
    assert set(re.findall(r"url\(([^)]{,1})", svg)) == {"#"}


def test_the_readme_shows_it() -> None:
    readme = (Path(picture.__file__).parents[1] / "README.md").read_text(encoding="utf-8")

    assert re.search(r"^!\[[^]]{20,}\]\(docs/demo\.svg\)$", readme, re.MULTILINE)
