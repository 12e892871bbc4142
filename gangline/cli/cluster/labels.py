"""Label selectors of the command line, as kubectl's -l has them."""

from collections.abc import Callable, Mapping

import click

from gangline.sandbox.apiserver.failures import Failure
from gangline.sandbox.apiserver.verbs.selectors import labels_predicate

LabelTest = Callable[[Mapping[str, str]], bool]


def label_test(text: str | None) -> LabelTest | None:
    """Read a selector such as `team=ml,tier!=free,gpu`; None where everything is meant. Raises UsageError."""
    try:
        predicate = labels_predicate(text or "")
    except Failure as error:
        raise click.UsageError(f"--selector {text!r}: {error}; write -l KEY=VALUE, KEY!=VALUE, KEY or !KEY") from error
    return None if predicate is None else lambda labels: predicate({"metadata": {"labels": dict(labels)}})
