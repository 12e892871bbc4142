"""What every service process is called, and what it does first: read its settings, set up logging, and run."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from gangline.service import lifecycle, logging
from gangline.service.process_settings import ProcessSettings
from gangline.service.settings import SettingsError, load

S = TypeVar("S", bound=ProcessSettings)


def instance_name() -> str:
    """Name this process as no other is named: its host, and something random."""
    return f"{socket.gethostname()}-{uuid4().hex[:8]}"


def run_process(
    settings_type: type[S],
    serve: Callable[[S, asyncio.Event], Coroutine[Any, Any, None]],
    arguments: Sequence[str],
    *,
    program: str,
    description: str,
    last_writes_s: float,
) -> int:
    """Run a service until SIGTERM; return its exit code (2: the settings cannot be used).

    `last_writes_s` is what it may take beyond `grace_s`, once the writes under way are done.
    """
    try:
        settings = load(settings_type, arguments, os.environ, program=program, description=description)
    except SettingsError as error:
        print(error, file=sys.stderr)  # noqa: T201 - logging is not set up yet
        return 2
    logging.configure(settings.log_format, settings.log_level)
    return lifecycle.run(partial(serve, settings), grace_s=settings.grace_s + last_writes_s)
