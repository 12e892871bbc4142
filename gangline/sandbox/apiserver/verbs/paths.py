"""What a request is about, read from its path: kind, namespace, name and subresource."""

from urllib.parse import unquote

from msgspec import Struct

from gangline.sandbox.apiserver import failures
from gangline.sandbox.apiserver.kinds import Kind
from gangline.sandbox.apiserver.registry import Registry


class Target(Struct, frozen=True, kw_only=True):
    """What a request is about; `name` is empty for collections."""

    kind: Kind
    namespace: str
    name: str
    subresource: str = ""

    @property
    def key(self) -> str:
        """Key in the store."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def target_of(path: str, registry: Registry) -> Target:
    """Return the target of `/api/v1/...` or `/apis/<group>/<version>/...`; raises 404."""
    match [unquote(part) for part in path.strip("/").split("/")]:
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            raise failures.NoSuchPath
    if not registry.is_served(group):
        raise failures.NoSuchPath
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        _, namespace, *rest = rest
    if not 1 <= len(rest) <= 3:
        raise failures.no_such_resource()
    plural, name, subresource = (*rest, "", "")[:3]
    kind = registry.find(group, version, plural)
    if kind is None and registry.is_custom(group):
        raise failures.NoSuchPath
    if kind is None or (namespace and not kind.namespaced) or (name and kind.namespaced and not namespace):
        raise failures.no_such_resource()
    if subresource and subresource not in kind.subresources and kind.custom:
        raise failures.not_found(kind, name)
    if subresource and subresource not in kind.subresources:
        raise failures.no_such_resource()
    return Target(kind=kind, namespace=namespace, name=name, subresource=subresource)
