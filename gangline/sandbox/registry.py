"""Which kinds are served right now: the built-in rows and those of established CustomResourceDefinitions."""

from collections.abc import Iterable

from gangline.sandbox.kinds import BUILT_IN, Kind


class Registry:
    """Kinds by (group, version, plural)."""

    def __init__(self, kinds: Iterable[Kind] = BUILT_IN) -> None:
        self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in kinds}
        self._groups: dict[str, bool] = {}
        self._count()

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the kind served at a path."""
        return self._kinds.get((group, version, plural))

    def add(self, kind: Kind) -> None:
        """Serve a kind, or serve it differently."""
        self._kinds[kind.group, kind.version, kind.plural] = kind
        self._count()

    def remove(self, group: str, plural: str) -> None:
        """Stop serving a resource in all its versions."""
        self._kinds = {key: kind for key, kind in self._kinds.items() if (kind.group, kind.plural) != (group, plural)}
        self._count()

    def kinds(self) -> list[Kind]:
        """Return all kinds, built-in ones first."""
        return list(self._kinds.values())

    def is_served(self, group: str) -> bool:
        """Whether a group has a kind."""
        return group in self._groups

    def is_custom(self, group: str) -> bool:
        """Whether a group is one of definitions."""
        return self._groups.get(group, False)

    def _count(self) -> None:
        self._groups = {kind.group: kind.custom for kind in self._kinds.values()}

    def group_versions(self) -> dict[str, list[str]]:
        """Return the versions by group; the core group is empty."""
        groups: dict[str, list[str]] = {"": ["v1"]}
        for kind in self._kinds.values():
            versions = groups.setdefault(kind.group, [])
            if kind.version not in versions:
                versions.append(kind.version)
        return groups
