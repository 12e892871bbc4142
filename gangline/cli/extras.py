"""What is not always installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

_PACKAGES: Final = ("cronsim", "jsonpatch", "jsonpointer")


@contextmanager
def sandbox_extra() -> Iterator[None]:
    """Turn a missing package of the sandbox's extra into one clear line."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        raise click.ClickException(
            f"the sandbox needs the package {error.name}: `make demo` installs it; elsewhere "
            "`pip install '.[sandbox]'` does, where the code is"
        ) from error
