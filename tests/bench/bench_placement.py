"""Decisions per second at 5,000 nodes: `python -m tests.bench.bench_placement` prints the figures.

Each gang is placed and charged to the ledgers, and the rows are written, as the scheduler does; when the cluster is
full it is emptied again. Times are of the process's own CPU. Not collected by pytest: figures are read by people and compared within one run.
"""

# ruff: noqa: T201 - the figures are what it is for

import argparse
import gc
import time
import tracemalloc
from collections.abc import Iterator
from itertools import count, cycle, pairwise

from gangline.contract.node import Taint
from scheduler.core.events import Scoring
from scheduler.core.model.ledger import Ledger, NodeFacts
from scheduler.core.model.member_class import ClassId, ClassTable, MemberClass, NodeRules
from scheduler.core.placement import ClassDemand, Demand, Plan, place
from scheduler.core.snapshot import Snapshot

GIB = 2**30


def ledgers(number: int) -> list[Ledger]:
    """Make nodes of three kinds, spread over zones, a tenth of them tainted."""
    made = []
    for index in range(number):
        one = Ledger(f"node-{index:06}")
        gpus = 8 if index % 3 == 0 else 0
        one.node = NodeFacts(
            uid=f"uid-{index}",
            labels={"kubernetes.io/hostname": one.name, "zone": f"z{index % 5}", "kind": "gpu" if gpus else "cpu"},
            taints=(Taint(key="dedicated", effect="NoSchedule"),) if index % 10 == 0 else (),
            allocatable={
                "cpu": 64_000 + 32_000 * (index % 3),
                "memory": 256 * GIB,
                "pods": 110,
                "nvidia.com/gpu": gpus,
            },
        )
        made.append(one)
    return made


def member_classes() -> list[MemberClass]:
    """Make 20 classes: other amounts, some with a selector."""
    return [
        MemberClass(
            requests=(("cpu", 1000 + 500 * (index % 6)), ("memory", (1 + index % 4) * GIB), ("pods", 1)),
            rules=NodeRules(selector=(("zone", f"z{index % 5}"),) if index % 4 == 0 else ()),
        )
        for index in range(20)
    ]


class Bench:
    """A cluster that gangs are placed on until the time is over."""

    def __init__(self, nodes: int) -> None:
        self.classes = ClassTable()
        self.ledgers = {one.name: one for one in ledgers(nodes)}
        self.snapshot = Snapshot(self.classes)
        self.ids = [self.classes.acquire(one) for one in member_classes()]
        self._uids = (f"pod-{number}" for number in count())
        for one in self.ledgers.values():
            self.snapshot.write_row(one)

    def run(self, demands: Iterator[Demand], scoring: Scoring, seconds: float) -> tuple[int, list[float]]:
        """Place gangs for so long; return the number of pods and the time of each decision."""
        pods, times = 0, list[float]()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.process_time()
            answer = place(next(demands), self.snapshot, scoring=scoring)
            times.append(time.process_time() - start)
            if isinstance(answer, Plan):
                pods += self._commit(answer)
            else:
                self._empty()
        return pods, times

    def _commit(self, plan: Plan) -> int:
        touched = set()
        for each in plan.assignments:
            one = self.ledgers[each.node]
            for _ in range(each.count):
                one.charge(next(self._uids), each.class_id, self.classes[each.class_id])
            touched.add(each.node)
        for node in touched:
            self.snapshot.write_row(self.ledgers[node])
        return sum(each.count for each in plan.assignments)

    def _empty(self) -> None:
        for one in self.ledgers.values():
            for uid in list(one.charges):
                one.release(uid)
            self.snapshot.write_row(one)


def single_class(ids: list[ClassId], size: int) -> Iterator[Demand]:
    """Yield gangs of one class each."""
    for class_id in cycle(ids):
        yield Demand((ClassDemand(class_id, size),), size)


def two_roles(ids: list[ClassId], size: int) -> Iterator[Demand]:
    """Yield gangs of one leader and its workers."""
    for leader, worker in cycle(pairwise(ids)):
        yield Demand((ClassDemand(leader, 1), ClassDemand(worker, size - 1)), size)


def report(nodes: int, seconds: float) -> None:
    """Print one line for each kind of gang and scoring."""
    print(f"{nodes} nodes")
    for scoring in Scoring:
        for name, demands, size in (
            ("one class", single_class, 100),
            ("one class", single_class, 3),
            ("one class", single_class, 1),
            ("two classes", two_roles, 100),
        ):
            bench = Bench(nodes)
            start = time.process_time()
            pods, times = bench.run(demands(bench.ids, size), scoring, seconds)
            whole = time.process_time() - start
            deciding, ordered = sum(times), sorted(times)
            print(
                f"{scoring:6} gangs of {size:3}, {name:11}: {pods / deciding:10,.0f} pods/s deciding, "
                f"{pods / whole:9,.0f} with charging, p50 {ordered[len(times) // 2] * 1e6:6.0f} us, "
                f"p99 {ordered[len(times) * 99 // 100] * 1e6:6.0f} us"
            )


def report_misfits(nodes: int, seconds: float) -> None:
    """Print how long it takes to say no."""
    bench = Bench(nodes)
    large = bench.classes.acquire(MemberClass(requests=(("cpu", 128_000), ("pods", 1))))
    _, times = bench.run(single_class([large], 5 * nodes), Scoring.PACK, seconds)
    print(f"gangs that do not fit: p50 {sorted(times)[len(times) // 2] * 1e6:.0f} us, with reasons")


def report_new_rules(nodes: int) -> None:
    """Print what the first gang with new node rules costs."""
    bench, times = Bench(nodes), list[float]()
    for number in range(20):
        rules = NodeRules(selector=(("kind", "cpu"), ("job", str(number))))
        class_id = bench.classes.acquire(MemberClass(requests=(("cpu", 1000), ("pods", 1)), rules=rules))
        start = time.process_time()
        place(Demand((ClassDemand(class_id, 1),), 1), bench.snapshot, scoring=Scoring.PACK)
        times.append(time.process_time() - start)
    print(f"first gang with rules never seen: p50 {sorted(times)[10] * 1e3:.1f} ms")


def report_memory(nodes: int) -> None:
    """Print the bytes that the snapshot adds for each node, and the peak while rows are written and a gang placed."""
    made = ledgers(nodes)
    classes = ClassTable()
    ids = [classes.acquire(one) for one in member_classes()]
    gc.collect()
    tracemalloc.start()
    snapshot = Snapshot(classes)
    for one in made:
        snapshot.write_row(one)
    for class_id in ids:
        place(Demand((ClassDemand(class_id, 100),), 100), snapshot, scoring=Scoring.PACK)
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"snapshot: {now / nodes:.0f} bytes a node at rest, {peak / nodes:.0f} at the peak")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure placement.")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each line")
    options = parser.parse_args()
    report(options.nodes, options.seconds)
    report_misfits(options.nodes, options.seconds)
    report_new_rules(options.nodes)
    report_memory(options.nodes)


if __name__ == "__main__":
    main()
