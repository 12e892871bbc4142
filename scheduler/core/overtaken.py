"""What has happened to a plan since it was made: it may have waited for a worker, and the cluster goes on meanwhile."""

from scheduler.core.cache import Cache
from scheduler.core.gang import missing_of
from scheduler.core.gang_rule import problem_of_group
from scheduler.core.gangs import Gangs
from scheduler.core.instructions import Bind, BindGang


class Overtaken:
    """Says, just before something is sent, why it should not be sent any more."""

    def __init__(self, cache: Cache, gangs: Gangs) -> None:
        self._cache = cache
        self._gangs = gangs

    def bind(self, bind: Bind, gang: str) -> str | None:
        """Say why this pod should not be bound to this node for this gang; None if all is as it was planned."""
        member, intent = self._cache.members.get(bind.uid), self._cache.intents.get(bind.uid)
        if member is None or member.deleting or intent is None or intent.attempt != bind.attempt:
            return f"pod {bind.namespace}/{bind.name} is not to be bound any more"
        if str(member.gang) != gang:
            return f"pod {bind.namespace}/{bind.name} has left the gang"
        if not self._cache.has_node(bind.node):
            return f"node {bind.node} has gone"
        return None

    def plan(self, plan: BindGang) -> str | None:
        """Say why a gang should not be started by this plan; None if it still starts with all that it needs."""
        for bind in plan.binds:
            reason = self.bind(bind, plan.gang)
            if reason is not None:
                return reason
        gang = self._gangs.gang_of(plan.binds[0].uid)
        if gang is None:
            return None
        group = self._gangs.group_of(gang.key)
        problem = problem_of_group(gang, group)
        if problem is not None:
            return problem.message
        missing = missing_of(gang, group)
        return f"the gang now needs {missing} more" if missing else None
