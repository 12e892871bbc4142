"""A real control plane for tests: etcd, kube-apiserver, kube-controller-manager and, when asked, kube-scheduler.

    async with ControlPlane(binaries(release())) as plane:
        async with connect(str(plane.kubeconfig(path)), user_agent="test") as client: ...

Everything listens on loopback, on ports of its own, in a directory of its own. RBAC decides, and every request is in
the audit log. Nodes must be kept alive (`gangline.sandbox.kubelets`): the node lifecycle controller is at work.
"""

import asyncio
import shutil
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import aiohttp
import msgspec
import trustme

from tests.support import usage
from tests.support.logs import records
from tests.support.ports import LOOPBACK, free_port
from tests.support.real_cluster import ADMIN, RealCluster
from tests.support.services import eventually
from tests.support.supervised import ServerError, Supervised

START_S: Final = 180.0
POLL_S: Final = 0.02
CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
SCHEDULER: Final = "system:kube-scheduler"
STOP_ORDER: Final = ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")
GROUPS: Final = {ADMIN: "system:masters"}
MARK: Final = "/version?mark="
# Log each request once, with who and what; what a watch delivers is not a request.
AUDIT_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
# Refuse pods or taint nodes until a controller has done its part.
NEED_CONTROLLERS: Final = ("ServiceAccount", "TaintNodesByCondition")
# Controllers of what no test looks at, which would only make load.
IDLE_CONTROLLERS: Final = (
    "bootstrap-signer-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "horizontal-pod-autoscaler-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-binder-controller",
    "token-cleaner-controller",
)


class ControlPlane(RealCluster):
    """The servers of one cluster; an async context manager.

    It belongs to no event loop, so it can be started in one and used in others. `users` get tokens of their own and
    whatever RBAC gives them; the admin may do everything. Without `controllers` nothing happens but what clients do,
    and pods need no ServiceAccount: the admission plugins `without_plugins` are off. Options are flags, passed on as they are. Entering raises ServerError with the last
    words of the server that failed, whose directory is then kept.
    """

    def __init__(
        self,
        binaries: Path,
        *,
        users: Sequence[str] = (),
        controllers: bool = True,
        without_plugins: Sequence[str] = NEED_CONTROLLERS,
        kube_scheduler: bool = False,
        apiserver_options: Sequence[str] = (),
        controller_options: Sequence[str] = (),
    ) -> None:
        self._binaries = binaries
        self._tokens = {user: f"token-of-{user}" for user in (ADMIN, CONTROLLER_MANAGER, SCHEDULER, *users)}
        self._with_controllers = controllers
        self._without_plugins = () if controllers else tuple(without_plugins)
        self._with_kube_scheduler = kube_scheduler
        self._apiserver_options = tuple(apiserver_options)
        self._controller_options = tuple(controller_options)
        self._servers: dict[str, Supervised] = {}
        self.keep_directory = False

    @property
    def url(self) -> str:
        """Address of the API server."""
        return f"https://{LOOPBACK}:{self._port}"

    @property
    def kubectl(self) -> Path:
        """The kubectl of the same version."""
        return self._binaries / "kubectl"

    def kubeconfig(
        self, path: Path, *, user: str = ADMIN, token: str | None = None, namespace: str = "default"
    ) -> Path:
        """Write a kubeconfig for a user, or for the bearer of any other token; return its path."""
        config: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {"server": self.url, "certificate-authority": str(self.directory / "ca.crt")},
                }
            ],
            "users": [{"name": user, "user": {"token": token or self._tokens[user]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user, "namespace": namespace}}],
        }
        path.write_bytes(msgspec.json.encode(config))
        return path

    async def request(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Send the API server a request as its admin; status 0 when it does not answer."""
        context = ssl.create_default_context(cafile=self.directory / "ca.crt")
        headers = {"Authorization": f"Bearer {self._tokens[ADMIN]}", "Content-Type": "application/json"}
        data = None if body is None else msgspec.json.encode(body)
        try:
            async with (
                aiohttp.ClientSession(headers=headers) as session,
                session.request(method, self.url + path, data=data, ssl=context) as response,
            ):
                answer = await response.read()
                usage.answers[usage.REAL] += 1
                return response.status, answer
        except aiohttp.ClientConnectionError:
            return 0, b""

    async def audit(self) -> list[dict[str, Any]]:
        """Every request so far, in the order in which they were answered.

        A line is written after its answer: so it waits for that of a request of its own.
        """
        mark, log = f"{MARK}{uuid4()}", self.directory / "audit.log"

        async def is_marked() -> bool:
            return any(each["requestURI"] == mark for each in reversed(records(log)))

        await self.request("GET", mark)
        await eventually(is_marked, "the audit log is written")
        return [each for each in records(log) if not each["requestURI"].startswith(MARK)]

    def check(self) -> None:
        """Raise ServerError if a server has ended by itself."""
        for each in self._servers.values():
            each.check()

    @asynccontextmanager
    async def without_apiserver(self) -> AsyncIterator[None]:
        """Let the API server be away for a while; whatever happens then, it comes back.

        It ends as in a crash: asked to end, it waits a minute for open watches.
        """
        self._end("kube-apiserver").kill()
        try:
            yield
        finally:
            await self._start_apiserver()

    async def _start_apiserver(self) -> None:
        """Start it again at the same address, and the controllers too.

        By themselves they wait for up to half a minute before they ask again, do not notice a restore, and end where the
        API server went away while they started.
        """
        with_controllers = "kube-controller-manager" in self._servers
        if with_controllers:
            self._end("kube-controller-manager").kill()
        self._start("kube-apiserver", self._apiserver_flags())
        await self._until("/readyz", lambda status, _: status == 200, "kube-apiserver")
        if with_controllers:
            self._start("kube-controller-manager", self._controller_flags())

    async def restart_apiserver(self) -> None:
        """End the API server and start it again."""
        async with self.without_apiserver():
            pass

    def replace_authority(self) -> None:
        """Write a bundle and a serving certificate of a new authority; they count from the next start."""
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.directory / "ca.crt")
        serving = authority.issue_cert(LOOPBACK, "localhost", "kubernetes.default.svc")
        serving.private_key_and_cert_chain_pem.write_to_path(self.directory / "serving.pem")

    async def compact(self) -> None:
        """Let etcd forget all history up to now; the API server remembers some until it is restarted."""
        url = f"http://{LOOPBACK}:{self._etcd_port}/v3/kv"
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{url}/range", json={"key": "AA=="}) as response:
                revision = (await response.json())["header"]["revision"]
            async with session.post(f"{url}/compaction", json={"revision": revision, "physical": True}) as response:
                assert response.status == 200, await response.text()

    @asynccontextmanager
    async def kube_scheduler(self) -> AsyncIterator[None]:
        """Run kube-scheduler for a while."""
        self._start("kube-scheduler", self._client_flags(SCHEDULER))
        try:
            yield
        finally:
            await self._end("kube-scheduler").stop()

    async def save_store(self, copy: Path) -> None:
        """Copy what etcd holds, with everything down for a moment."""
        async with self.without_apiserver():
            await self._end("etcd").stop()
            shutil.copytree(self.directory / "etcd", copy)
            self._start_etcd()

    async def restore_store(self, copy: Path) -> None:
        """Let etcd hold what it held when `copy` was made: resourceVersions go back."""
        async with self.without_apiserver():
            await self._end("etcd").stop()
            shutil.rmtree(self.directory / "etcd")
            shutil.copytree(copy, self.directory / "etcd")
            self._start_etcd()

    async def __aenter__(self) -> Self:
        self.directory = Path(tempfile.mkdtemp(prefix="gangline-controlplane-"))
        self._port, self._etcd_port, self._peer_port = (free_port() for _ in range(3))
        self._write_files()
        try:
            self._start_etcd()
            await self._start_apiserver()
            await self._start_clients()
        except BaseException:
            self.keep_directory = True
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the servers, each before the one that it needs."""
        for name in STOP_ORDER:
            if name in self._servers:
                await self._end(name).stop()
        if not self.keep_directory:
            shutil.rmtree(self.directory)

    async def _start_clients(self) -> None:
        if self._with_kube_scheduler:
            self._start("kube-scheduler", self._client_flags(SCHEDULER))
        if not self._with_controllers:
            return
        self._start("kube-controller-manager", self._controller_flags())
        # Without it the ServiceAccount plugin refuses every pod; that it is there says that controllers work.
        await self._until(
            "/api/v1/namespaces/default/serviceaccounts/default",
            lambda status, _: status == 200,
            "kube-controller-manager",
        )

    def _start(self, name: str, flags: Iterator[str]) -> None:
        self._servers[name] = Supervised(name, [self._binaries / name, *flags], self.directory)

    def _end(self, name: str) -> Supervised:
        """Take a server that is about to end off the list, and note what it needed."""
        server = self._servers.pop(name)
        usage.note_peak(name, usage.peak_kib(server.pid))
        return server

    def _start_etcd(self) -> None:
        self._start("etcd", self._etcd_flags())

    async def _until(self, path: str, holds: Callable[[int, bytes], bool], server: str) -> None:
        status, body = 0, b""
        try:
            async with asyncio.timeout(START_S):
                while not holds(status, body):
                    self.check()
                    await asyncio.sleep(POLL_S)
                    status, body = await self.request("GET", path)
        except TimeoutError:
            said = f"{path} says {status} after {START_S} s: {body.decode(errors='replace')}"
            raise ServerError(f"{said}\n{self._servers[server].last_words()}") from None

    def _write_files(self) -> None:
        """Certificates, keys, tokens and the audit policy: all made anew for each cluster."""
        self.replace_authority()
        trustme.CA().private_key_pem.write_to_path(self.directory / "service-accounts.key")
        rows = [f'{token},{user},{user},"{GROUPS.get(user, "")}"\n' for user, token in self._tokens.items()]
        (self.directory / "tokens.csv").write_text("".join(rows))
        (self.directory / "audit-policy.json").write_bytes(msgspec.json.encode(AUDIT_POLICY))

    def _etcd_flags(self) -> Iterator[str]:
        client, peer = f"http://{LOOPBACK}:{self._etcd_port}", f"http://{LOOPBACK}:{self._peer_port}"
        yield f"--data-dir={self.directory / 'etcd'}"
        yield f"--listen-client-urls={client}"
        yield f"--advertise-client-urls={client}"
        yield f"--listen-peer-urls={peer}"
        yield f"--initial-advertise-peer-urls={peer}"
        yield f"--initial-cluster=default={peer}"
        yield "--unsafe-no-fsync"
        yield "--log-level=warn"

    def _apiserver_flags(self) -> Iterator[str]:
        here = self.directory
        yield f"--etcd-servers=http://{LOOPBACK}:{self._etcd_port}"
        yield f"--bind-address={LOOPBACK}"
        yield f"--advertise-address={LOOPBACK}"
        yield f"--secure-port={self._port}"
        yield f"--tls-cert-file={here / 'serving.pem'}"
        yield f"--tls-private-key-file={here / 'serving.pem'}"
        yield f"--token-auth-file={here / 'tokens.csv'}"
        yield "--authorization-mode=RBAC"
        yield "--service-account-issuer=https://kubernetes.default.svc"
        yield f"--service-account-key-file={here / 'service-accounts.key'}"
        yield f"--service-account-signing-key-file={here / 'service-accounts.key'}"
        yield "--service-cluster-ip-range=10.0.0.0/24"
        yield "--endpoint-reconciler-type=none"
        yield f"--audit-policy-file={here / 'audit-policy.json'}"
        yield f"--audit-log-path={here / 'audit.log'}"
        yield "--audit-log-maxsize=100000"  # megabytes; a log that is begun anew would have forgotten what tests count
        if self._without_plugins:
            yield f"--disable-admission-plugins={','.join(self._without_plugins)}"
        yield from self._apiserver_options

    def _client_flags(self, user: str) -> Iterator[str]:
        path = self.directory / f"{user.rpartition(':')[2]}.kubeconfig"
        yield f"--kubeconfig={self.kubeconfig(path, user=user)}"
        yield "--leader-elect=false"
        yield "--secure-port=0"
        yield "--kube-api-qps=500"
        yield "--kube-api-burst=1000"

    def _controller_flags(self) -> Iterator[str]:
        yield from self._client_flags(CONTROLLER_MANAGER)
        yield "--use-service-account-credentials=true"
        yield f"--root-ca-file={self.directory / 'ca.crt'}"
        yield f"--service-account-private-key-file={self.directory / 'service-accounts.key'}"
        yield f"--controllers={','.join(['*', *(f'-{name}' for name in IDLE_CONTROLLERS)])}"
        yield from self._controller_options
