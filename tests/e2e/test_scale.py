"""Many gangs at once: all are bound, and no more of them are ever partly bound than binds in flight explain."""

from scheduler.settings import Settings
from tests.support.scale import bind_gangs, core_bytes_per_pod
from tests.support.services import DEADLINE_S


async def test_twenty_gangs_of_ten_on_forty_nodes() -> None:
    figures = await bind_gangs(node_count=40, gang_count=20, gang_size=10, within_s=DEADLINE_S)

    assert figures.most_half_started <= Settings().bind_concurrency
    assert figures.half_started_at_rest == 0


def test_a_pod_in_the_cache_is_small() -> None:
    assert core_bytes_per_pod(2000) < 3000
