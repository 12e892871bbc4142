"""Storms: whatever happens in whatever order, the machine stays true and ends with all that fits bound."""

from collections import Counter
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from msgspec.structs import replace

from gangline.contract.node import Node
from gangline.contract.pod import Pod
from scheduler.core.cache import IntentState
from scheduler.core.events import Event, SettingsGiven
from scheduler.core.instructions import Bind, BindGang, WriteCondition
from scheduler.core.machine import Scheduler, Step
from tests.support.builders import group, job_pod, node, owner, pod
from tests.support.cluster_model import ClusterModel, Fault, object_name
from tests.support.script import kinds_synced
from tests.support.state_machines import run_seeded

ENCODER = msgspec.json.Encoder()
EVENTS: msgspec.json.Decoder[list[Event]] = msgspec.json.Decoder(list[Event])
GROUPS = st.sampled_from(["a", "b", "c"])
NODES = st.sampled_from(["n1", "n2", "n3"])
PICK = st.integers(0, 63)
FAULTS = st.sampled_from([Fault.NONE, Fault.NONE, Fault.NONE, *Fault])


class Storm(RuleBasedStateMachine):
    """A cluster of which everything goes wrong that can, and a scheduler that must not."""

    situations: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler()
        self.model = ClusterModel(self.scheduler.overtaken)
        self.now = 0.0
        self.pods_made = 0
        self.step_is_sound: list[str] = []
        self.journal: list[tuple[bytes, float, bytes]] = []
        self._handle([SettingsGiven(scheduler_names=("gangline",)), *kinds_synced()])

    def _handle(self, told: list[Event]) -> None:
        while True:
            step = self.scheduler.handle(told, self.now)
            self.journal.append((ENCODER.encode(told), self.now, ENCODER.encode(step.instructions)))
            self.step_is_sound += self._faults_of(step)
            self.model.submit(step.instructions)
            told = []
            if not step.more:
                return

    @initialize(cpu=st.integers(2, 8))
    def start_with_a_node(self, cpu: int) -> None:
        self.model.create(node("n1", cpu=cpu))
        self._handle([self.model.deliver(name) for name in self.model.deliverable()])

    @rule(name=GROUPS, min_member=st.integers(1, 4), resources=st.sampled_from([None, None, {"cpu": "3"}]))
    def put_group(self, name: str, min_member: int, resources: dict[str, Any] | None) -> None:
        known = self.model.objects.get(("PodGroup", "team", name))
        new = group(name, min_member, min_resources=resources, created_s=self.now)
        if known is None:
            self.model.create(new)
        else:
            self.model.put(replace(new, metadata=known.metadata))

    @precondition(lambda self: self.model.groups())
    @rule(pick=PICK)
    def delete_group(self, pick: int) -> None:
        groups = self.model.groups()
        self.model.delete(object_name(groups[pick % len(groups)]))

    @rule(name=GROUPS, count=st.integers(1, 4), cpu=st.integers(1, 3), priority=st.sampled_from([0, 0, 5]))
    def create_members(self, name: str, count: int, cpu: int, priority: int) -> None:
        for _ in range(count):
            self._create(job_pod, job=f"job-{name}", group=name, cpu=cpu, priority=priority)

    @rule(
        cpu=st.integers(1, 3),
        scheduler=st.sampled_from(["gangline", "gangline", "other"]),
        shadow=st.sampled_from([None, 2, "x"]),
        gated=st.booleans(),
        host_port=st.sampled_from([None, None, 80]),
    )
    def create_pod(
        self, cpu: int, scheduler: str, shadow: int | str | None, gated: bool, host_port: int | None
    ) -> None:
        self._create(
            pod,
            cpu=cpu,
            scheduler=scheduler,
            shadow=shadow,
            gated=gated,
            host_port=host_port,
            owned_by=owner("StatefulSet", "web"),
        )

    @rule(name=GROUPS, cpu=st.sampled_from(["much", -1]))
    def create_bad_member(self, name: str, cpu: str | int) -> None:
        self._create(pod, group=name, cpu=cpu)

    def _create(self, builder: Any, **fields: Any) -> None:
        self.pods_made += 1
        self.model.create(builder(f"p{self.pods_made % 12}", created_s=self.now, **fields))

    def _pod(self, pick: int) -> Pod:
        pods = self.model.pods()
        return pods[pick % len(pods)]

    @precondition(lambda self: self.model.pods())
    @rule(pick=PICK)
    def delete_pod(self, pick: int) -> None:
        self.model.delete_gracefully(object_name(self._pod(pick)))

    @precondition(lambda self: self.model.pods())
    @rule(pick=PICK)
    def replace_pod(self, pick: int) -> None:
        chosen = self._pod(pick)
        name = object_name(chosen)
        self.model.delete(name)
        self.model.create(replace(chosen, spec=replace(chosen.spec, node_name=None)))
        self._handle([self.model.deliver_newest(name)])

    @precondition(lambda self: self.model.pods())
    @rule(pick=PICK)
    def remove_pod(self, pick: int) -> None:
        self.model.delete(object_name(self._pod(pick)))

    @precondition(lambda self: self.model.pods())
    @rule(pick=PICK, phase=st.sampled_from(["Running", "Succeeded", "Failed"]))
    def change_phase(self, pick: int, phase: str) -> None:
        chosen = self._pod(pick)
        if chosen.spec.node_name and chosen.status.phase not in ("Succeeded", "Failed"):
            self.model.put(replace(chosen, status=replace(chosen.status, phase=phase)))

    @precondition(lambda self: self.model.pods())
    @rule(pick=PICK, name=GROUPS)
    def relabel_pod(self, pick: int, name: str) -> None:
        chosen = self._pod(pick)
        labels = {"scheduling.x-k8s.io/pod-group": name}
        self.model.put(replace(chosen, metadata=replace(chosen.metadata, labels=labels)))

    @precondition(lambda self: self.model.pods())
    @rule(pick=PICK)
    def open_gate(self, pick: int) -> None:
        chosen = self._pod(pick)
        if chosen.spec.scheduling_gates:
            self.model.put(replace(chosen, spec=replace(chosen.spec, scheduling_gates=None)))

    @precondition(lambda self: self.model.pods())
    @rule(pick=PICK, name=NODES)
    def bind_by_another(self, pick: int, name: str) -> None:
        self.model.bind_by_another(object_name(self._pod(pick)), name)

    @rule(name=NODES, cpu=st.integers(1, 6), cordoned=st.booleans())
    def put_node(self, name: str, cpu: int, cordoned: bool) -> None:
        known = self.model.objects.get(("Node", "", name))
        new = node(name, cpu=cpu, unschedulable=cordoned and cpu > 3)
        if isinstance(known, Node):
            self.model.put(replace(new, metadata=known.metadata))
        else:
            self.model.create(new)

    @precondition(lambda self: self.model.nodes())
    @rule(pick=PICK)
    def delete_node(self, pick: int) -> None:
        nodes = self.model.nodes()
        self.model.delete(object_name(nodes[pick % len(nodes)]))

    @precondition(lambda self: self.model.deliverable())
    @rule(picks=st.lists(PICK, min_size=1, max_size=6), newest=st.booleans())
    def deliver(self, picks: list[int], newest: bool) -> None:
        told = []
        for pick in picks:
            names = self.model.deliverable()
            if names:
                name = names[pick % len(names)]
                told.append(self.model.deliver_newest(name) if newest else self.model.deliver(name))
        self._handle(told)

    @precondition(lambda self: self.model.deliverable())
    @rule()
    def deliver_all(self) -> None:
        self._handle([self.model.deliver(name) for name in self.model.deliverable()])

    @rule(name=GROUPS, count=st.integers(2, 4))
    def start_a_gang(self, name: str, count: int) -> None:
        self.put_group(name=name, min_member=count, resources=None)
        self.create_members(name=name, count=count, cpu=1, priority=0)
        while self.model.deliverable():
            self.deliver_all()

    @precondition(lambda self: self.model.last_event)
    @rule(pick=PICK)
    def repeat(self, pick: int) -> None:
        names = sorted(self.model.last_event)
        self._handle([self.model.repeat(names[pick % len(names)])])

    @rule(answered=st.booleans())
    def relist(self, answered: bool) -> None:
        if answered:
            results, self.model.results = self.model.results, []
            self._handle([*results])
        unknown = sum(intent.state is IntentState.UNKNOWN for intent in self.scheduler._cache.intents.values())
        self._handle(self.model.relist(unknown_uids=unknown))

    @precondition(lambda self: self.model.jobs)
    @rule(pick=PICK, fault=FAULTS)
    def carry_out(self, pick: int, fault: Fault) -> None:
        self.model.carry_out(pick % len(self.model.jobs), fault)

    @precondition(lambda self: self.model.bind_jobs())
    @rule(pick=PICK, fault=st.sampled_from(Fault), relists=st.booleans())
    def send_a_bind(self, pick: int, fault: Fault, relists: bool) -> None:
        jobs = self.model.bind_jobs()
        self.model.carry_out(jobs[pick % len(jobs)], fault)
        if relists:
            self.relist(answered=True)

    @precondition(lambda self: self.model.bind_jobs())
    @rule(pick=PICK, name=NODES)
    def another_is_faster(self, pick: int, name: str) -> None:
        chosen = [one for one in self.model.pods() if one.metadata.uid in self.model.in_flight()]
        if chosen:
            self.model.bind_by_another(object_name(chosen[pick % len(chosen)]), name)

    @precondition(lambda self: self.model.results)
    @rule(picks=st.lists(PICK, min_size=1, max_size=4))
    def answer(self, picks: list[int]) -> None:
        results = self.model.results
        self._handle([results.pop(pick % len(results)) for pick in picks if results])

    @rule(seconds=st.sampled_from([0.5, 3.0, 40.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._handle([])

    @invariant()
    def safety_everything_derived_is_what_it_is_derived_from(self) -> None:
        assert [piece for piece in self.scheduler.validate() if piece] == []

    @invariant()
    def safety_no_order_was_wrong(self) -> None:
        assert self.step_is_sound == []

    @invariant()
    def safety_no_pod_is_charged_twice(self) -> None:
        ledgers = self.scheduler._cache.ledgers.values()
        charged = Counter(uid for ledger in ledgers for uid in ledger.charges)
        assert all(times == 1 for times in charged.values())
        assert all(amount > 0 for ledger in ledgers for amount in ledger.used.values())

    def _faults_of(self, step: Step) -> list[str]:
        faults = []
        for order in step.instructions:
            if isinstance(order, BindGang):
                faults += self._faults_of_gang(order)
            elif isinstance(order, WriteCondition):
                faults += self._faults_of_condition(order)
        return faults

    def _faults_of_gang(self, order: BindGang) -> list[str]:
        in_flight = self.model.in_flight()
        faults = [f"{order}: {bind.name} is in flight" for bind in order.binds if bind.uid in in_flight]
        if len({bind.uid for bind in order.binds}) < len(order.binds):
            faults.append(f"{order}: a pod comes twice")
        for bind in order.binds:
            faults += [f"{order}: {fault}" for fault in self._faults_of_bind(bind, retried=self._is_retry(bind))]
        if order.nothing_bound:
            faults += self._faults_of_quorum(order)
        return [*faults, *self._faults_at_birth(order)]

    def _faults_at_birth(self, order: BindGang) -> list[str]:
        """Say why a new order would not be sent: it would be given again and again, for ever."""
        overtaken = self.scheduler.overtaken
        reasons = [overtaken.bind(bind, order.gang) for bind in order.binds]
        if order.nothing_bound:
            reasons.append(overtaken.plan(order))
        return [f"{order}: {reason} from the start" for reason in reasons if reason is not None]

    def _is_retry(self, bind: Bind) -> bool:
        return self.scheduler._cache.intents[bind.uid].reads > 0

    def _faults_of_bind(self, bind: Bind, *, retried: bool) -> list[str]:
        faults = []
        seen = self._observed(bind.uid)
        if seen is None or seen.spec.node_name or seen.metadata.deletion_timestamp or seen.spec.scheduling_gates:
            faults.append(f"{bind.name} was not seen waiting")
        ledger = self.scheduler._cache.ledgers[bind.node]
        if ledger.node is None:
            faults.append(f"{bind.node} is not there")
        elif not retried:
            if ledger.node.unschedulable:
                faults.append(f"{bind.node} is cordoned")
            have = ledger.node.allocatable
            faults += [
                f"{bind.node} is over-committed in {resource}"
                for resource, amount in ledger.used.items()
                if amount > have.get(resource, 0)
            ]
            faults += [f"{bind.node}: port {port} is taken" for port, users in ledger.ports.items() if users > 1]
        return faults

    def _faults_of_quorum(self, order: BindGang) -> list[str]:
        first = self._observed(order.binds[0].uid)
        name = (first.metadata.labels or {}).get("scheduling.x-k8s.io/pod-group") if first else None
        known = self.model.delivered.get(("PodGroup", "team", name)) if name else None
        if name is None:
            return []
        if known is None:
            return [f"{order}: its PodGroup was not seen"]
        minimum = known.spec.min_member or 1  # type: ignore[union-attr]  # it is a PodGroup by its name
        succeeded = sum(
            1
            for thing in self.model.delivered.values()
            if isinstance(thing, Pod) and thing.status.phase == "Succeeded" and thing.metadata.labels
        )
        return [] if len(order.binds) + succeeded >= minimum else [f"{order}: fewer than {minimum}"]

    def _faults_of_condition(self, order: WriteCondition) -> list[str]:
        seen = self._observed(order.uid)
        if seen is None or seen.spec.node_name or seen.metadata.deletion_timestamp or seen.spec.scheduling_gates:
            return [f"{order}: the pod was not seen waiting"]
        if order.uid in self.model.in_flight():
            return [f"{order}: a bind of the pod is in flight"]
        says = [(one.reason, one.message) for one in seen.status.conditions or () if one.status == "False"]
        return [f"{order}: it says so already"] if (order.reason, order.message) in says else []

    def _observed(self, uid: str) -> Pod | None:
        pods = (thing for thing in self.model.delivered.values() if isinstance(thing, Pod))
        return next((seen for seen in pods if seen.metadata.uid == uid), None)

    def teardown(self) -> None:
        self._come_to_rest()
        self.safety_everything_derived_is_what_it_is_derived_from()
        self.safety_no_order_was_wrong()
        self.safety_a_replay_orders_the_same_byte_for_byte()
        self.progress_nothing_is_left_in_flight()
        self.progress_a_scheduler_that_starts_now_has_nothing_to_do()
        Storm.situations.update(self.model.situations)

    def safety_a_replay_orders_the_same_byte_for_byte(self) -> None:
        again = Scheduler()
        for told, now, ordered in self.journal:
            assert ENCODER.encode(again.handle(EVENTS.decode(told), now).instructions) == ordered

    def _come_to_rest(self) -> None:
        quiet_s = 0.0
        while quiet_s < 1300:
            while self.model.deliverable() or self.model.jobs or self.model.results:
                quiet_s = 0.0
                while self.model.jobs:
                    self.model.carry_out(0, Fault.NONE)
                results, self.model.results = self.model.results, []
                self._handle([*results, *(self.model.deliver(name) for name in self.model.deliverable())])
                self._remove_the_deleted()
            self.now += 50
            quiet_s += 50
            self._handle([])

    def _remove_the_deleted(self) -> None:
        for one in self.model.pods():
            if one.metadata.deletion_timestamp is not None:
                self.model.delete(object_name(one))

    def progress_nothing_is_left_in_flight(self) -> None:
        assert self.scheduler._cache.intents == {}

    def progress_a_scheduler_that_starts_now_has_nothing_to_do(self) -> None:
        fresh = Scheduler()
        fresh.handle([SettingsGiven(scheduler_names=("gangline",)), *self.model.snapshot_events()], self.now)
        orders = list(fresh.handle(kinds_synced(), self.now).instructions)
        for seconds in (10, 100, 1000):
            orders += fresh.handle([], self.now + seconds).instructions
        assert [order for order in orders if isinstance(order, BindGang | WriteCondition)] == []


TestStorm = Storm.TestCase
TestStorm.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)

SITUATIONS = (
    "pod deleted while its bind was on its way",
    "an answer for a pod that has gone",
    "node created under the name of charged pods",
    "node deleted while pods were charged to it",
    "pod re-created under its name without the removal being told",
    "versions of an object were skipped",
    "an event came twice",
    "relist while the outcome of a bind was unknown",
    "a bind dropped a condition that waited",
    "a bind that was not done has an unknown outcome",
    "a bind that was done has an unknown outcome",
    "refused: Foreign",
    "refused: Lost",
    "refused: Forbidden",
    "refused: Stale",
    "refused: Dropped",
    "refused: Overtaken",
    "condition: Written",
    "condition: Conflict",
    "condition: Lost",
    "condition: Failed",
)


@pytest.mark.timeout(1200)
def test_a_seeded_storm_meets_every_situation() -> None:
    Storm.situations.clear()
    run_seeded(Storm, 20261130, examples=300)

    assert [name for name in SITUATIONS if not Storm.situations[name]] == []
