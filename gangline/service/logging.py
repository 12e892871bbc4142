"""Structured logging: one short line per event on stderr, as JSON for machines or in colours for people.

structlog writes natively (no stdlib record in between); what libraries log through the stdlib comes out in the
same form. Context is bound with `structlog.contextvars`. Tracebacks carry no local variables, and keys and values that
look like credentials are blanked. Logging never waits for whoever reads stderr.
"""

import atexit
import json
import logging
import re
import sys
from typing import Any, Final, Literal, TextIO, cast

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from gangline.service.log_stream import LogStream

LONGEST: Final = 4096
"""Longest text value in characters: a log is read by people."""
DRAIN_S: Final = 2.0
"""How long the end of the process waits for the last lines to be read."""
_SECRET_KEY: Final = re.compile(r"token|password|secret|authorization|credential", re.IGNORECASE)
_SECRET_VALUE: Final = re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+")
_encoder: Final = msgspec.json.Encoder(enc_hook=repr, order="deterministic")


def configure(format: Literal["json", "console"], level: str, *, stream: TextIO | None = None) -> None:  # noqa: A002 - the setting's word
    """Set up logging for the process, before its first log line; a `stream` of the caller's own is written directly."""
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer = _json if format == "json" else _console(colors=(stream or sys.stderr).isatty())
    target = stream or _stderr()
    structlog.configure(
        processors=[*_context(), renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(target),
        cache_logger_on_first_use=True,
    )
    _route_stdlib(target, number, renderer)


def _stderr() -> TextIO:
    stream = LogStream(sys.stderr.buffer)
    atexit.register(stream.drain, DRAIN_S)
    return cast(TextIO, stream)  # loggers only write and flush


def _context() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _discreet,
    ]


def _route_stdlib(stream: TextIO, level: int, renderer: Processor) -> None:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, structlog.stdlib.ExtraAdder(), *_context()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.INFO))
    logging.captureWarnings(capture=True)


def _discreet(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Blank what looks like a credential and cut what is too long."""
    return {key: "[hidden]" if _SECRET_KEY.search(key) else _short(value) for key, value in event.items()}


def _short(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    value = _SECRET_VALUE.sub(r"\1 [hidden]", value)
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}... ({len(value)} characters)"


def _json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    try:
        return _encoder.encode(event).decode()
    except (TypeError, ValueError):
        # Lone surrogates or odd dictionary keys: a log line must never raise in the code that logs it.
        return json.dumps({str(key): value for key, value in event.items()}, default=repr, skipkeys=True)


def _console(*, colors: bool) -> structlog.dev.ConsoleRenderer:
    return structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
