"""Situations in which a gang is stuck, as objects, and the answer of `gangline why` to each."""

from gangline.cli.cluster.owners import Owner
from gangline.cli.cluster.scheduler import Live
from gangline.cli.cluster.survey import Profile, RecordedEvent, Survey
from gangline.cli.cluster.views import Views
from gangline.cli.explain.answer import Answer
from gangline.cli.explain.explain import Sources, explain
from gangline.cli.explain.target import target_of
from gangline.contract.meta import ApiObject
from gangline.contract.node import Node
from gangline.contract.pod import Pod
from gangline.contract.podgroup import PodGroup
from gangline.contract.policy import PodDisruptionBudget, PriorityClass
from tests.support.builders import NAMESPACE, at


def survey_of(*things: ApiObject | Owner, now_s: float = 100.0, unread: tuple[str, ...] = ()) -> Survey:
    """A survey of these objects."""
    return Survey(
        at=at(now_s),
        pods=tuple(thing for thing in things if isinstance(thing, Pod)),
        nodes=tuple(thing for thing in things if isinstance(thing, Node)),
        groups=tuple(thing for thing in things if isinstance(thing, PodGroup)),
        priority_classes=tuple(thing for thing in things if isinstance(thing, PriorityClass)),
        budgets=tuple(thing for thing in things if isinstance(thing, PodDisruptionBudget)),
        owners=tuple(thing for thing in things if isinstance(thing, Owner)),
        events=tuple(thing for thing in things if isinstance(thing, RecordedEvent)),
        unread=unread,
    )


def why(
    target: str,
    *things: ApiObject | Owner,
    live: Views | None = None,
    problems: tuple[str, ...] = (),
    now_s: float = 100.0,
) -> Answer:
    """Ask why a target of these objects waits; without `live` no scheduler answers."""
    silence = "" if live is not None else "nobody answers"
    sources = Sources(Profile(), Live(views=live, silence=silence, problems=problems))
    return explain(target_of([target], NAMESPACE), survey_of(*things, now_s=now_s), sources)
