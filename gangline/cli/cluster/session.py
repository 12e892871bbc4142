"""The session: one conversation with an API server, whose failures become one line each that says what to do."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click
import msgspec
import structlog
import yaml
from msgspec import Struct

from gangline.cli.cluster.access import Access
from gangline.cli.terminal import printable
from gangline.contract.names import API_VERSION, PLURAL
from gangline.kube.client import Client, connect
from gangline.kube.transport import DEFAULT_KUBECONFIG, ConfigurationError
from gangline.kube.wire.errors import ApiError, Forbidden, Interrupted, Unauthorized, Undecodable, Unreachable
from gangline.service.process_settings import NAMESPACE_FILE

T = TypeVar("T")

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
USER_AGENT: Final = "gangline-cli"
_NAME_ONE: Final = "Name a kubeconfig with --kubeconfig or $KUBECONFIG."


class Failure(click.ClickException):
    """Ends the command: `error: ...` on stderr and exit code 1."""

    def show(self, file: Any = None) -> None:
        """Write the message as kubectl writes its own."""
        lines = map(printable, self.message.splitlines())
        click.echo("error: " + "\n".join(lines), err=True, file=file)


def talk(access: Access, conversation: Callable[[Client], Awaitable[T]]) -> T:
    """Run a conversation to its end. Raises Failure for whatever keeps us from having it."""
    _refuse_unusable(access)
    _leave_the_log_out()

    async def main() -> T:
        async with connect(
            access.kubeconfig,
            access.context or None,
            user_agent=USER_AGENT,
            call_limit_s=access.request_timeout_s,
        ) as client:
            return await conversation(client)

    try:
        return asyncio.run(main())
    except ConfigurationError as error:
        raise Failure(f"{error}\n{_NAME_ONE}") from error
    except ApiError as error:
        raise Failure(f"{error}\n{_way_out(error)}") from error


def _leave_the_log_out() -> None:
    """Drop log lines, which would go to stdout, among the output: a command says itself what is wrong."""
    if not structlog.is_configured():
        structlog.configure(processors=[_drop])


def _drop(_logger: object, _method: str, _event: MutableMapping[str, Any]) -> NoReturn:
    raise structlog.DropEvent


def _way_out(error: ApiError) -> str:
    match error:
        case Unreachable() | Interrupted():
            return "The API server does not answer: look at `kubectl cluster-info`, or name another --context."
        case Unauthorized():
            return "The credentials are not accepted: log in again, or name another --context."
        case Forbidden():
            return "Ask for the right to read that: `kubectl auth can-i list pods -A` shows what you have."
        case Undecodable():
            return "Is that an API server? Look at its address in `kubectl config view --minify`."
        case _:
            return "Try again; if it goes on, look at the API server's own log."


def is_missing_kind(error: ApiError) -> bool:
    """Tell whether a list failed because the API server does not serve the kind."""
    return error.status == 404


def no_crd() -> str:
    """Say that our CRD is not installed."""
    return f"this cluster has no {PLURAL} of {API_VERSION}: install them with `kubectl apply -k manifests/base`"


def namespace_of(access: Access, given: str | None) -> str:
    """Return the namespace to look at: the one given, else the context's, else that of our pod, else default.

    Raises Failure where a kubeconfig cannot be read, or what it is called cannot be a namespace.
    """
    namespace = given or _own_namespace(access) or _context_namespace(_kubeconfigs(access), access.context) or "default"
    if not _NAMESPACE.fullmatch(namespace):
        raise Failure(f"{namespace!r} is no name of a namespace: that has lowercase letters, digits and - only")
    return namespace


def _refuse_unusable(access: Access) -> None:
    """Say what is wrong with kubeconfigs in words of our own, where the library's are its own affair. Raises Failure."""
    if not access.kubeconfig and "KUBERNETES_SERVICE_HOST" in os.environ:
        return
    if (names := context_names(access)) and access.context and access.context not in names:
        raise Failure(f"context {access.context!r} does not exist; there are: {', '.join(names)}")


def _own_namespace(access: Access) -> str:
    is_pod = not _files(access) and NAMESPACE_FILE.exists()
    return NAMESPACE_FILE.read_text(encoding="utf-8").strip() if is_pod else ""


def context_names(access: Access) -> list[str]:
    """Return the names of all contexts. Raises Failure where a kubeconfig cannot be read."""
    return [entry.name for config in _kubeconfigs(access) for entry in config.contexts or () if entry.name]


def _files(access: Access) -> str:
    return access.kubeconfig or os.environ.get("KUBECONFIG") or ""


class _Context(Struct, frozen=True):
    namespace: str | None = None


class _NamedContext(Struct, frozen=True):
    name: str = ""
    context: _Context | None = None


class _Kubeconfig(Struct, frozen=True, rename="kebab"):
    """What we read of a kubeconfig ourselves."""

    current_context: str | None = None
    contexts: tuple[_NamedContext, ...] | None = None


def _kubeconfigs(access: Access) -> list[_Kubeconfig]:
    """Read the files as kubectl does, in their order: the first that says something wins."""
    paths = [Path(part).expanduser() for part in (_files(access) or DEFAULT_KUBECONFIG).split(os.pathsep) if part]
    return [_kubeconfig(path) for path in paths if path.exists()]


def _kubeconfig(path: Path) -> _Kubeconfig:
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
        config = msgspec.convert(read or {}, _Kubeconfig)
    except OSError as error:
        raise _unusable(path, error.strerror) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unusable(path, error) from error
    if read is None:
        raise _unusable(path, "the file is empty")
    return config


def _unusable(path: Path, problem: object) -> Failure:
    return Failure(f"kubeconfig {path}: {problem}\n{_NAME_ONE}")


def _context_namespace(configs: list[_Kubeconfig], context: str | None) -> str | None:
    wanted = context or next((config.current_context for config in configs if config.current_context), None)
    named = (entry for config in configs for entry in config.contexts or () if entry.name == wanted)
    entry = next(named, None)
    return entry.context.namespace if entry is not None and entry.context is not None else None
