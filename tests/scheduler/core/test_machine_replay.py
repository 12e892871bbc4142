"""Equal events at equal times give equal steps, in whatever process."""

import subprocess
import sys
from hashlib import sha256

import msgspec

from scheduler.core.events import Event, SettingsGiven
from scheduler.core.instructions import BindGang
from scheduler.core.machine import Scheduler
from tests.support.builders import group, node, owner, pod
from tests.support.script import bound_results, gone, kinds_synced, observed


def eventful_day() -> bytes:
    """A digest of everything ordered on a day with many equal gangs, labels and reasons."""
    scheduler = Scheduler()
    told: list[Event] = [SettingsGiven(scheduler_names=("gangline",)), *kinds_synced()]
    nodes = [node(f"n{n}", cpu=3, labels={"zone": f"z{n % 3}"}, allocatable={"x/gpu": 2}) for n in range(12)]
    told += [observed(one) for one in nodes]
    digest = sha256()
    for hour in range(6):
        for number in range(8):
            name = f"g{hour}-{number}"
            selector = {"zone": f"z{number % 4}"}
            told.append(observed(group(name, 3)))
            told += [
                observed(pod(f"{name}-{n}", group=name, selector=selector, requests={"x/gpu": n % 2})) for n in range(4)
            ]
        told.append(observed(pod(f"s{hour}", shadow=2, owned_by=owner("StatefulSet", f"s{hour}"))))
        told += [gone(nodes[hour]), observed(node(f"n{hour}", cpu=6, uid=f"again-{hour}"))]
        for minute in range(4):
            step = scheduler.handle(told, hour * 100.0 + minute * 20)
            digest.update(msgspec.json.encode(step.instructions))
            told = [
                result
                for order in step.instructions
                if isinstance(order, BindGang)
                for result in bound_results(order.binds)
            ]
    return digest.hexdigest().encode()


def test_two_runs_order_the_same() -> None:
    assert eventful_day() == eventful_day()


def test_the_seed_of_hashes_changes_nothing() -> None:
    code = "from tests.scheduler.core import test_machine_replay as day; print(day.eventful_day().decode())"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(found) == 1
