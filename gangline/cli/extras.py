"""What is not always installed."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def sandbox_extra() -> Iterator[None]:
    """Turn a missing package of the sandbox's extra into one clear line."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("cronsim", "jsonpatch", "jsonpointer"):
            raise
        raise click.ClickException(
            f"the sandbox needs the package {error.name}: install it with `pip install 'gangline[sandbox]'`"
        ) from error
