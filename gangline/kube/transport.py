"""Where the API server is and who we are: kubeconfig files, credential plugins and service accounts.

The only module that imports kubernetes_asyncio, for reading configuration and credentials and nothing else; its
import costs about a second and 60 MiB, so it waits until something is read.
"""

import asyncio
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml
from msgspec import Struct
from yarl import URL

from gangline.base.fatal import StartError

SERVICE_ACCOUNT_DIRECTORY: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_KUBECONFIG: Final = "~/.kube/config"
PLUGIN_TIMEOUT_S: Final = 30.0


class ConfigurationError(StartError):
    """The configuration cannot be used; the message says which file and what to do."""


class Tls(Struct, frozen=True, kw_only=True):
    """How the server proves who it is, and we prove who we are; `digest` changes with the content of the files."""

    ca_file: str | None
    cert_file: str | None
    key_file: str | None
    verify: bool
    server_name: str | None
    digest: bytes


class Access(Struct, frozen=True, kw_only=True):
    """One reading of the configuration: `server` is a URL without a closing slash, `tls` None for plain HTTP."""

    server: str
    authorization: str | None
    tls: Tls | None
    proxy: str | None


class AccessSource:
    """Reads where and who: a named kubeconfig, else the pod's service account, else `$KUBECONFIG` or ~/.kube/config."""

    def __init__(
        self,
        kubeconfig: str | None,
        context: str | None,
        *,
        environ: Mapping[str, str] = os.environ,
        service_account_directory: Path = SERVICE_ACCOUNT_DIRECTORY,
    ) -> None:
        self._kubeconfig = kubeconfig
        self._context = context
        self._environ = environ
        self._token_file = service_account_directory / "token"
        self._ca_file = service_account_directory / "ca.crt"
        self._files: tuple[str, ...] = ()

    async def read(self) -> Access:
        """Read everything anew: files, and whatever a credential plugin says. Raises ConfigurationError."""
        from kubernetes_asyncio.client import Configuration  # noqa: PLC0415 - slow to import

        configuration: Any = Configuration()
        if self._in_cluster:
            self._read_service_account(configuration)
            files = [str(self._token_file)]
        else:
            files = await self._read_kubeconfig(configuration)
        access = _access(configuration)
        self._files = (*files, *_tls_files(access.tls))
        return access

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Return what changes when a file is replaced; cheap enough to ask often."""
        return tuple(_file_stamp(path) for path in self._files)

    @property
    def _in_cluster(self) -> bool:
        return self._kubeconfig is None and bool(self._environ.get("KUBERNETES_SERVICE_HOST"))

    def _read_service_account(self, configuration: Any) -> None:
        from kubernetes_asyncio.config import ConfigException, load_incluster_config  # noqa: PLC0415

        try:
            load_incluster_config(  # type: ignore[no-untyped-call] # the package types only a part of itself
                configuration,
                try_refresh_token=False,
                token_filename=str(self._token_file),
                cert_filename=str(self._ca_file),
                environ=dict(self._environ),
            )
        except (ConfigException, OSError, ValueError) as error:
            raise ConfigurationError(
                f"service account in {self._token_file.parent}: {error}; mount a token or name a kubeconfig"
            ) from error

    async def _read_kubeconfig(self, configuration: Any) -> list[str]:
        from kubernetes_asyncio.config import ConfigException, load_kube_config  # noqa: PLC0415

        files = self._kubeconfig_files()
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT_S):
                await load_kube_config(
                    config_file=os.pathsep.join(files),
                    context=self._context,
                    client_configuration=configuration,
                    persist_config=False,
                )
        except (ConfigException, yaml.YAMLError, aiohttp.ClientError, OSError, ValueError) as error:
            raise ConfigurationError(
                f"kubeconfig {os.pathsep.join(files)}: {str(error) or type(error).__name__}"
            ) from error
        except (AssertionError, AttributeError, KeyError, TypeError, RecursionError) as error:
            # How the reader fails on files that are YAML but no kubeconfig.
            raise ConfigurationError(
                f"kubeconfig {os.pathsep.join(files)}: it has not the form of a kubeconfig "
                f"({type(error).__name__}: {error}); look at `kubectl config view`"
            ) from error
        return files

    def _kubeconfig_files(self) -> list[str]:
        named = self._kubeconfig or self._environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG
        files = [str(Path(part).expanduser()) for part in named.split(os.pathsep) if part]
        if not any(Path(file).is_file() for file in files):
            raise ConfigurationError(f"kubeconfig {named}: no such file; name one, or run inside a cluster")
        return files


def _access(configuration: Any) -> Access:
    token = configuration.api_key.get("BearerToken")
    server = _server(str(configuration.host))
    return Access(
        server=server,
        authorization=_header(token) if token else None,
        tls=_tls(configuration) if server.startswith("https:") else None,
        proxy=configuration.proxy or None,
    )


def _server(address: str) -> str:
    try:
        url = URL(address)
    except ValueError as error:
        raise ConfigurationError(f"server {address!r}: {error}; write https://HOST:PORT") from error
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigurationError(f"server {address!r} is no address; write https://HOST:PORT")
    return address.rstrip("/")


def _header(token: str) -> str:
    """Return the token as a header; files often end in a newline, which a header must not."""
    value = " ".join(token.split())
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError("the token holds characters that no token has; write it again as plain text")
    return value


def _tls(configuration: Any) -> Tls:
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    try:
        content = [Path(file).read_bytes() if file else b"" for file in files]
    except OSError as error:
        raise ConfigurationError(f"certificate file: {error}") from error
    return Tls(
        ca_file=files[0],
        cert_file=files[1],
        key_file=files[2],
        verify=bool(configuration.verify_ssl),
        server_name=configuration.tls_server_name,
        digest=hashlib.sha256(b"\0".join(content)).digest(),
    )


def _tls_files(tls: Tls | None) -> list[str]:
    return [file for file in (tls.ca_file, tls.cert_file, tls.key_file) if file] if tls else []


def _file_stamp(path: str) -> tuple[int, int, int]:
    try:
        stat = os.stat(path)  # noqa: PTH116 - hot, and a Path is built for nothing
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
