"""Which kinds are served right now: the built-in rows and those of established CustomResourceDefinitions."""

from gangline.sandbox.apiserver.kinds import BUILT_IN, Kind


class Registry:
    """Kinds by (group, version, plural), built-in ones first."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        self._groups: dict[str, bool] = {}
        for kind in BUILT_IN:
            self.add(kind)

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the kind served at a path."""
        return self._kinds.get((group, version, plural))

    def find_stored(self, api_version: str, name: str) -> Kind | None:
        """Return the kind whose stored objects call themselves so."""
        return next(
            (kind for kind in self._kinds.values() if (kind.storage_version, kind.kind) == (api_version, name)), None
        )

    def add(self, kind: Kind) -> None:
        """Serve a kind, or serve it differently."""
        self._kinds[kind.group, kind.version, kind.plural] = kind
        self._groups[kind.group] = kind.custom

    def remove(self, group: str, plural: str) -> None:
        """Stop serving a resource in all its versions."""
        self._kinds = {key: kind for key, kind in self._kinds.items() if (kind.group, kind.plural) != (group, plural)}
        self._groups = {kind.group: kind.custom for kind in self._kinds.values()}

    def served_in(self, group: str, version: str) -> list[Kind]:
        """Return the kinds of a group and version."""
        return [kind for kind in self._kinds.values() if (kind.group, kind.version) == (group, version)]

    def is_served(self, group: str) -> bool:
        """Whether a group has a kind."""
        return group in self._groups

    def is_custom(self, group: str) -> bool:
        """Whether a group is one of definitions."""
        return self._groups.get(group, False)

    def group_versions(self) -> dict[str, list[str]]:
        """Return the versions by group; the core group is empty."""
        versions: dict[str, dict[str, None]] = {}
        for kind in self._kinds.values():
            versions.setdefault(kind.group, {})[kind.version] = None
        return {group: list(each) for group, each in versions.items()}
