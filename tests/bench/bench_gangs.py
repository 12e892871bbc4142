"""Gangs bound per second, end to end: `python -m tests.bench.bench_gangs` prints the figures.

The sandbox, its kubelets and the controller share one process; the scheduler has one of its own. So binds per second
are what the sandbox can take, CPU and memory are the scheduler's alone.
"""

# ruff: noqa: T201 - the figures are what it is for

import argparse
import asyncio

from scheduler.settings import Settings
from tests.support.scale import Figures, bind_gangs, core_bytes_per_pod


def main() -> None:
    """Run once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--gangs", type=int, default=100)
    parser.add_argument("--size", type=int, default=10)
    given = parser.parse_args()
    run = bind_gangs(node_count=given.nodes, gang_count=given.gangs, gang_size=given.size, within_s=300.0)
    report(asyncio.run(run), given.nodes)


def report(figures: Figures, nodes: int) -> None:
    """Print the figures, and fail if a gang was left in part."""
    limit = Settings().bind_concurrency
    print(f"{figures.pods} pods in {figures.gangs} gangs on {nodes} nodes: all bound")
    print(f"binds per second (first to last bind)      {figures.binds_per_s:10.0f}")
    print(f"start of the scheduler to the last bind, s {figures.start_to_last_bind_s:10.1f}")
    print(f"scheduler CPU per pod, ms                  {figures.cpu_ms_per_pod:10.2f}")
    print(f"scheduler memory per pod (RSS), bytes      {figures.memory_bytes_per_pod:10.0f}")
    print(f"core memory per bound pod, bytes           {core_bytes_per_pod():10.0f}")
    print(f"gangs partly bound at once, at most        {figures.most_half_started:10} (binds in flight: {limit})")
    print(f"gangs partly bound at rest                 {figures.half_started_at_rest:10}")
    assert figures.most_half_started <= limit
    assert figures.half_started_at_rest == 0


if __name__ == "__main__":
    main()
