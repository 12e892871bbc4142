"""Draw `docs/demo.svg` of a real run: `python -m docs.picture`, or `make picture`.

The first steps of `gangline demo` are walked on an embedded cluster with both services, and after each of them the cluster
is drawn as `gangline sandbox` draws it. The picture looks the same everywhere: no font and no other thing is fetched for it.
"""

import asyncio
import io
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from gangline.cli.cluster.reading import read_survey
from gangline.cli.live.picture import Frame, lines
from gangline.cli.walk.ground import sandboxed
from gangline.cli.walk.run import SERVICES
from gangline.cli.walk.services import Services
from gangline.cli.walk.stage import SETTLE_S, Stage
from gangline.cli.walk.steps import STEPS, Step
from gangline.cli.walk.view import View

PICTURE: Final = Path(__file__).with_name("demo.svg")
DRAWN: Final = STEPS[:4]
"""From room for three to room for all: what starts together and what waits together."""
TITLE: Final = "gangs start together or not at all"
FRAME: Final = Frame(width=94, height=12)
ASPECT: Final = 0.602
"""Width of a character of most monospace fonts, in heights; the picture is as wide with any other."""
SVG: Final = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own form names fonts on other people's servers."""


async def drawn() -> str:
    """Walk, and return the picture."""
    console = Console(record=True, file=io.StringIO(), width=FRAME.width, force_terminal=True, highlight=False)
    with tempfile.TemporaryDirectory(prefix="gangline-picture-") as name:
        directory = Path(name)
        async with (
            sandboxed(directory / "kubeconfig") as ground,
            Services(SERVICES, kubeconfig=ground.kubeconfig, directory=directory),
            asyncio.TaskGroup() as group,
        ):
            view = View(ground.client)
            following = group.create_task(view.run(), name="view")
            stage = Stage(ground.client, view, directory, settle_s=SETTLE_S)
            for number, step in enumerate(DRAWN, start=1):
                await _draw(console, stage, step, number)
            following.cancel()
    return console.export_svg(title=TITLE, code_format=SVG, font_aspect_ratio=ASPECT, unique_id="demo")


async def _draw(console: Console, stage: Stage, step: Step, number: int) -> None:
    """Take a step, and print what it is and how the cluster looks then."""
    expectations = step.expect(stage.view)
    await step.act(stage)
    for expectation, finding in zip(expectations, await stage.settled(expectations), strict=True):
        if not finding.holds:
            raise SystemExit(f"{step.title}: {expectation.says}, but {finding.evidence}")
    console.print(Text(f"{number}/{len(STEPS)}  {step.title}", style="bold cyan"))
    console.print(Text(step.why))
    for command in step.commands:
        console.print(Text(f"$ {command}", style="dim"))
    for line in lines(await read_survey(stage.client), FRAME):
        if line.plain:
            console.print(line)
    console.print()


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(asyncio.run(drawn()), encoding="utf-8")
    print(PICTURE, file=sys.stdout)


if __name__ == "__main__":
    main()
