"""Label selectors of the command line, as kubectl's -l has them."""

from collections.abc import Callable, Mapping
from functools import partial

import click

from gangline.contract.label_query import label_selector_of
from gangline.contract.selectors import label_selector_matches

LabelTest = Callable[[Mapping[str, str]], bool]


def label_test(text: str | None) -> LabelTest | None:
    """Read a selector such as `team=ml,tier!=free,gpu`; None where everything is meant. Raises UsageError."""
    try:
        selector = label_selector_of(text or "")
    except ValueError as error:
        raise click.UsageError(f"--selector {text!r}: {error}; write -l KEY=VALUE, KEY!=VALUE, KEY or !KEY") from error
    return None if selector is None else partial(label_selector_matches, selector)
