"""Asking a cluster: read what there is, ask the scheduler, explain."""

from collections.abc import Sequence
from datetime import datetime

from gangline.cli.cluster.options import Access
from gangline.cli.cluster.reading import Live, ask_scheduler, read_survey
from gangline.cli.cluster.session import Failure, namespace_of, talk
from gangline.cli.cluster.survey import Survey
from gangline.cli.explain.answer import Answer
from gangline.cli.explain.explain import Sources, explain
from gangline.cli.explain.target import TargetError, target_of
from gangline.kube.client import Client


def ask(
    access: Access,
    words: Sequence[str],
    *,
    namespace: str | None,
    scheduler_names: tuple[str, ...],
    scheduler_address: str | None,
) -> tuple[Answer, datetime]:
    """Return the answer, and when the cluster was as it says. Raises Failure."""
    try:
        target = target_of(words, namespace_of(access, namespace))

        async def conversation(client: Client) -> tuple[Survey, Live]:
            survey = await read_survey(client, events_in=target.namespace)
            return survey, await ask_scheduler(client, survey.pods, scheduler_address)

        survey, live = talk(access, conversation)
        answer = explain(target, survey, Sources(scheduler_names, live.views, live.problem))
    except TargetError as error:
        raise Failure(str(error)) from error
    return answer, survey.at
