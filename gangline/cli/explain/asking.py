"""Asking a cluster: read what there is, ask the scheduler, explain."""

from collections.abc import Sequence
from datetime import datetime

from gangline.cli.cluster.access import Access
from gangline.cli.cluster.reading import read_survey, with_budgets
from gangline.cli.cluster.scheduler import ask_scheduler
from gangline.cli.cluster.session import Failure, namespace_of, talk
from gangline.cli.cluster.survey import Profile, Survey
from gangline.cli.cluster.told import speak_of_budgets
from gangline.cli.explain.answer import Answer
from gangline.cli.explain.explain import Sources, explain
from gangline.cli.explain.target import TargetError, target_of
from gangline.kube.client import Client


def ask(
    access: Access,
    words: Sequence[str],
    *,
    namespace: str | None,
    given: Profile | None,
    scheduler_address: str | None,
) -> tuple[Answer, datetime]:
    """Return the answer, and when the cluster was as it says. Raises Failure.

    Where no profile is given that of the scheduler which answers counts, else the usual one.
    """
    try:
        target = target_of(words, namespace_of(access, namespace))

        async def conversation(client: Client) -> tuple[Survey, Sources]:
            survey = await read_survey(client, about=target.namespace)
            live = await ask_scheduler(client, survey.pods, scheduler_address)
            sources = Sources(given or live.profile or Profile(budget_gangs=speak_of_budgets(survey.pods)), live)
            if sources.profile.budget_gangs:
                survey = await with_budgets(client, survey)
            return survey, sources

        survey, sources = talk(access, conversation)
        answer = explain(target, survey, sources)
    except TargetError as error:
        raise Failure(str(error)) from error
    return answer, survey.at
