"""`gangline why` about gangs that are stuck: is the answer true, has it numbers, does it say the next step?

Each situation is staged with objects alone, so that the answer is that of a scheduler without a past.
"""

from typing import Any

import pytest

from gangline.cli.cluster.owners import Owner
from gangline.cli.cluster.rehearsal import rehearse
from gangline.cli.cluster.survey import RecordedEvent, Regarding
from gangline.cli.cluster.views import GangView, HoldView, views_of
from gangline.cli.explain.answer import Answer
from gangline.cli.explain.target import TargetError, target_of
from gangline.contract.membership import GangKey, GangKind
from gangline.contract.meta import ApiObject, ObjectMeta
from gangline.contract.names import DEFAULT_SCHEDULER_NAME, LEGACY_POD_GROUP_LABEL
from gangline.contract.node import Taint
from gangline.contract.pod import Affinity, Pod, PodAffinity
from tests.support.builders import at, budget, group, node, owner, pod, priority_class
from tests.support.script import Script, Watched
from tests.support.stuck import survey_of, why

TAINT = Taint(key="nvidia.com/gpu", value="true", effect="NoSchedule")


def members(count: int, name: str = "g", **fields: Any) -> list[Pod]:
    """Members of the PodGroup `name`, of 3 CPUs each unless said otherwise."""
    given: dict[str, Any] = {"group": name, "cpu": 3, **fields}
    return [pod(f"{name}-{number}", **given) for number in range(count)]


def event(kind: str, name: str, uid: str, reason: str, note: str, at_s: float) -> RecordedEvent:
    return RecordedEvent(
        metadata=ObjectMeta(name=f"{name}.{at_s}", namespace="team"),
        regarding=Regarding(kind=kind, namespace="team", name=name, uid=uid),
        type="Warning",
        reason=reason,
        note=note,
        event_time=at(at_s),
    )


SITUATIONS: dict[str, tuple[list[ApiObject], str, str, str, str]] = {
    # what is staged, reason, words of the summary, words of what is missing, words of the next step
    "incomplete": (
        [group("g", 4), *members(2), node("n0", cpu=16)],
        *("GangIncomplete", "2 of 4 members", "2 more pods (2 of 4 are here)", '"minMember":2'),
    ),
    "no room": (
        [group("g", 4), *members(4), node("n0"), node("n1")],
        *(
            "Unschedulable",
            "2 of 4 members fit",
            "room for 2 of 4 members: 3 cpu each, 6 cpu in all",
            "room for 2 more",
        ),
    ),
    "fragmented": (
        [
            *(group("g", 1), *members(1)),
            *(node(f"n{number}") for number in range(5)),
            *(pod(f"p{number}", node=f"n{number}", cpu=2, phase="Running") for number in range(5)),
        ],
        "Unschedulable",
        "5 Insufficient cpu",
        "room for 1 of 1 members: 3 cpu",
        "10 cpu are free on 5 nodes, but at most 2 in one piece, and a member needs 3",
    ),
    "too large for every node": (
        [group("g", 1), *members(1, cpu=32), node("n0"), node("n1", cpu=8)],
        *("Unschedulable", "2 Insufficient cpu", "32 cpu", "the largest node has 8"),
    ),
    "no such device": (
        [group("g", 2), *members(2, requests={"nvidia.com/gpu": 1}), node("n0")],
        *(
            "Unschedulable",
            "Insufficient nvidia.com/gpu",
            "1 nvidia.com/gpu each, 2",
            "no usable node offers nvidia.com/gpu",
        ),
    ),
    "taints": (
        [group("g", 2), *members(2), node("n0", taints=(TAINT,)), node("n1", taints=(TAINT,))],
        *(
            "Unschedulable",
            "2 node(s) had untolerated taint(s)",
            "room for 2 of 2",
            "kubectl taint nodes n0 n1 nvidia.com/gpu:NoSchedule-",
        ),
    ),
    "cordon": (
        [group("g", 2), *members(2), node("n0", unschedulable=True), node("n1", unschedulable=True)],
        *("Unschedulable", "2 node(s) were unschedulable", "room for 2 of 2", "kubectl uncordon n0 n1"),
    ),
    "selector": (
        [group("g", 2), *members(2, selector={"pool": "gpu"}), node("n0", labels={"pool": "cpu"}), node("n1")],
        *(
            "Unschedulable",
            "2 node(s) didn't match",
            "room for 2 of 2",
            "kubectl label node n0 n1 pool=gpu --overwrite",
        ),
    ),
    "group missing": (
        [*members(3), group("gg", 3), node("n0", cpu=16)],
        *("PodGroupNotFound", "PodGroup team/g does not exist", "the PodGroup g in namespace team", "minMember: 3"),
    ),
    "wrong scheduler name": (
        [group("g", 2), *members(2, scheduler="default-scheduler"), node("n0", cpu=16)],
        *(
            "SchedulerMismatch",
            "2 pods of 2",
            "2 for another scheduler",
            "set `schedulerName: gangline` in the template of g-0, g-1",
        ),
    ),
    "two names": (
        [pod("g-0", group="g", labels={LEGACY_POD_GROUP_LABEL: "other"}), group("g", 1), node("n0")],
        *("InvalidGangLink", "'g'", "", "correct labels and annotations in the pod template"),
    ),
    "shadow without owner": (
        [pod("g-0", shadow=3), node("n0")],
        *("InvalidGangLink", "asks for 3 members", "", "correct labels and annotations"),
    ),
    "unsupported requirement": (
        [
            group("g", 2),
            *members(2, spec={"affinity": Affinity(pod_affinity=PodAffinity(required=({"topologyKey": "zone"},)))}),
            node("n0", cpu=16),
        ],
        *("UnsupportedRequirement", "2 pods cannot be placed as written", "", "drop that requirement"),
    ),
    "ordered StatefulSet": (
        [group("g", 3), *members(1, owned_by=owner("StatefulSet", "ps")), node("n0", cpu=16)],
        *("GangIncomplete", "1 of 3 members", "2 more pods (1 of 3", "podManagementPolicy: Parallel"),
    ),
    "Job of low parallelism": (
        [group("g", 5), *members(2, owned_by=owner("Job", "train")), node("n0", cpu=16)],
        *("GangIncomplete", "2 of 5 members", "3 more pods", "raise parallelism (and completions) of Job train to 5"),
    ),
    "minResources short": (
        [group("g", 2, min_resources={"cpu": 20}), *members(2), node("n0", cpu=16)],
        *(
            "Unschedulable",
            "minResources asks for 20 cpu, usable nodes have 16 cpu free",
            "20 cpu, free at once on usable nodes",
            '"minResources":null',
        ),
    ),
    "gated": (
        [group("g", 2), *members(2, gated=True), node("n0", cpu=16)],
        *("SchedulingGated", "hold back 2 members", "", "whoever put that gate there"),
    ),
    "service not running": (
        [group("g", 2), *members(2), node("n0", cpu=16)],
        *("NotScheduledYet", "2 of 2 waiting members", "", "app.kubernetes.io/name=gangline-scheduler"),
    ),
    "no pods": (
        [group("g", 4), node("n0")],
        *("NoPods", "no pod belongs to PodGroup team/g", "", "scheduling.x-k8s.io/pod-group: g"),
    ),
    "invalid group": (
        [group("g", 2, min_resources={"cpu": "many"}), *members(2), node("n0", cpu=16)],
        *("PodGroupInvalid", "'many'", "", "kubectl -n team edit pg g"),
    ),
    "bound and not running": (
        [group("g", 2), *members(2, node="n0"), node("n0", cpu=16)],
        *("Starting", "2 do not run yet", "", "kubectl -n team describe pod g-0"),
    ),
    "lost a member for good": (
        [group("g", 3), *members(2, node="n0", phase="Running"), node("n0", cpu=16)],
        *("GangIncomplete", "2 members bound", "1 more pod (0 of 1", "create the missing pods"),
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_answer_is_true_and_has_numbers_and_a_next_step(situation: str) -> None:
    things, reason, summary, missing, step = SITUATIONS[situation]
    target = "podgroup/g" if any(thing.metadata.name == "g" for thing in things) else "pod/g-0"
    target = "pod/g-0" if situation == "two names" else target

    answer = why(target, *things)

    assert answer.reason == reason
    assert summary in answer.summary
    assert missing in " ".join(answer.missing)
    assert step in "\n".join(answer.next)
    assert any(character.isdigit() for character in answer.summary + " ".join(answer.needs))


def test_a_pod_answers_as_its_gang_does_and_so_does_its_owner() -> None:
    things = [group("g", 4), *members(4, owned_by=owner("Job", "train")), node("n0")]

    answers = [why(target, *things) for target in ("podgroup/g", "pod/g-2", "job/train", "g", "jobs/train")]

    assert {(answer.reason, answer.summary, answer.missing) for answer in answers} == {
        (answers[0].reason, answers[0].summary, answers[0].missing)
    }


def test_nodes_are_grouped_by_why_they_fail_the_nearest_fit_first() -> None:
    used = pod("other", node="near", cpu=2, phase="Running")
    answer = why(
        "g",
        *(group("g", 4), *members(4), used),
        *(node("fits", cpu=3), node("near"), node("far", cpu=1), node("shut", unschedulable=True)),
        node("tainted", taints=(TAINT,)),
    )

    (nodes,) = answer.nodes
    assert nodes.members == 4
    assert nodes.asks == "3 cpu"
    assert [(part.reason, part.count, part.room) for part in nodes.groups] == [
        ("node(s) have room", 1, 1),
        ("Insufficient cpu", 2, 0),
        ("node(s) were unschedulable", 1, 0),
        ("node(s) had untolerated taint(s)", 1, 0),
    ]
    assert [(one.node, one.detail) for one in nodes.groups[1].nodes] == [
        ("near", "2 cpu free of 4, 1 short"),
        ("far", "1 cpu free of 1, 2 short"),
    ]
    assert nodes.groups[3].nodes[0].detail == "nvidia.com/gpu=true:NoSchedule, else room for 1"


@pytest.mark.parametrize(
    ("spoilt", "useless"),
    [
        ({"unschedulable": True}, "uncordon"),
        ({"taints": (TAINT,)}, "tolerations"),
        ({"labels": {"pool": "cpu"}}, "label node"),
    ],
    ids=["cordon", "taint", "selector"],
)
def test_nobody_is_sent_to_a_node_that_would_not_help_either(spoilt: dict[str, Any], useless: str) -> None:
    selector: dict[str, Any] = {"selector": {"pool": "gpu"}} if "labels" in spoilt else {}
    shut = {"labels": {"pool": "gpu"}} | spoilt
    taker = pod("other", node="full", cpu=4, phase="Running")

    helpful = why("g", group("g", 1), *members(1, **selector), node("full", **shut))
    futile = why("g", group("g", 1), *members(1, **selector), node("full", **shut), taker)

    assert useless in "\n".join(helpful.next)
    assert useless not in "\n".join(futile.next)
    assert helpful.nodes[0].groups[0].otherwise == 1


def test_a_node_that_is_not_ready_is_looked_into_and_not_tolerated() -> None:
    taint = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")
    answer = why("g", group("g", 1), *members(1), node("n0", taints=(taint,)))

    assert "`kubectl describe node n0`" in answer.next[0]
    assert not any("toleration" in step for step in answer.next)


def test_who_has_the_room_is_named_the_largest_first() -> None:
    answer = why(
        "g",
        *(group("g", 2), *members(2)),
        *(group("big", 2), *members(2, "big", cpu=2, node="n0", phase="Running", priority=5)),
        *(
            pod("web-0", node="n1", cpu=1, phase="Running", owned_by=owner("StatefulSet", "web")),
            pod("idle", node="n0", cpu=0),
        ),
        *(node("n0"), node("n1", cpu=3), pod("done", node="n1", cpu=2, phase="Succeeded")),
    )

    assert [(one.name, one.pods, one.takes, one.priority) for one in answer.takers] == [
        ("team/big", 2, "4 cpu", 5),
        ("statefulset team/web", 1, "1 cpu", 0),
    ]


def test_of_the_nodes_with_room_the_roomiest_comes_first() -> None:
    answer = why("g", group("g", 9), *members(9), node("a", cpu=3), node("b", cpu=9), node("c", cpu=6))

    assert [(one.node, one.detail) for one in answer.nodes[0].groups[0].nodes] == [
        ("b", "room for 3"),
        ("c", "room for 2"),
        ("a", "room for 1"),
    ]


def test_no_drain_is_advised_where_no_node_is_large_enough() -> None:
    answer = why("g", group("g", 1), *members(1, cpu=32), *(node(f"n{number}", cpu=20) for number in range(3)))

    assert "the largest node has 20" in answer.next[0]
    assert not any("drain" in step for step in answer.next)


def test_members_that_differ_are_judged_by_their_own_and_no_smaller_minimum_is_guessed() -> None:
    answer = why("g", group("g", 3), *members(2), pod("big", group="g", cpu=8), node("n0", cpu=7), node("n1"))

    assert [(part.members, part.asks, part.groups[0].room) for part in answer.nodes] == [
        (2, "3 cpu", 3),
        (1, "8 cpu", 0),
    ]
    assert answer.missing == ("room for 1 of 1 members: 8 cpu",)
    assert not any("minMember" in step for step in answer.next)


@pytest.mark.parametrize(
    ("minimum", "needs", "summary"),
    [
        (3, "minMember 3: 1 more must be bound (2 bound, 0 succeeded)", "has started with 2 members and lacks 1"),
        (2, "minMember 2: reached (2 bound, 0 succeeded); further members start one by one", "has its quorum"),
    ],
    ids=["repair", "surplus"],
)
def test_a_gang_that_has_started_says_what_its_last_member_is_to_it(minimum: int, needs: str, summary: str) -> None:
    started = members(2, node="n0", phase="Running")
    answer = why("g", group("g", minimum), *started, pod("late", group="g", cpu=3), node("n0", cpu=7))

    assert answer.needs[0] == needs
    assert summary in answer.summary
    assert answer.nodes[0].groups[0].nodes[0].detail == "1 cpu free of 7, 2 short"


def test_the_queue_names_who_is_tried_before() -> None:
    answer = why(
        "g",
        *(group("g", 2, created_s=50), *members(2, created_s=50)),
        *(group("early", 2), *members(2, "early")),
        *(group("urgent", 3, created_s=70), *members(3, "urgent", priority=10, created_s=70)),
        *(group("late", 2, created_s=90), *members(2, "late", created_s=90)),
        node("n0"),
    )

    assert answer.place == 3
    assert [(one.gang, one.priority, one.need) for one in answer.ahead] == [
        ("team/urgent", 10, 3),
        ("team/early", 0, 2),
    ]


def test_room_that_a_gang_ahead_would_take_is_not_offered_twice() -> None:
    answer = why(
        "g",
        *(group("g", 2, created_s=50), *members(2, created_s=50)),
        *(group("early", 2), *members(2, "early")),
        *(node("n0"), node("n1")),
    )

    assert answer.reason == "Unschedulable"
    assert [(part.reason, part.count) for part in answer.nodes[0].groups] == [("Insufficient cpu", 2)]


def test_the_class_of_a_group_lowers_its_place() -> None:
    answer = why(
        "g",
        *(priority_class("low", -5), group("g", 2, priority_class="low"), *members(2)),
        *(group("later", 2, created_s=90), *members(2, "later", created_s=90), node("n0")),
    )

    assert answer.priority == -5
    assert [one.gang for one in answer.ahead] == ["team/later"]


@pytest.mark.parametrize(
    ("said", "step"),
    [
        (("BindFailed", "binding pod team/g-0 to node n0 was refused: quota exceeded"), "it tries again by itself"),
        (("HeldForGang", "Room is held for the repair of team/other"), "30 s at most"),
    ],
    ids=["bind failed", "held for another gang"],
)
def test_what_only_a_scheduler_with_a_past_knows_is_taken_from_the_condition(said: tuple[str, str], step: str) -> None:
    answer = why("g", group("g", 2), *members(2, said=said), node("n0", cpu=16))

    assert (answer.reason, answer.source) == (said[0], "condition")
    assert said[1] in answer.summary
    assert step in answer.next[0]


def test_a_condition_of_yesterday_yields_to_what_the_objects_say_now() -> None:
    answer = why("g", group("g", 3), *members(2, said=("Unschedulable", "0/1 nodes")), node("n0", cpu=16))

    assert answer.reason == "GangIncomplete"


def test_what_happened_last_is_told_once_newest_first() -> None:
    answer = why(
        "g",
        group("g", 2),
        *members(2, said=("Unschedulable", "no room")),
        node("n0"),
        event("Pod", "g-0", "uid-g-0", "BindFailed", "binding g-0 to node n0: refused", 40),
        event("Pod", "g-1", "uid-g-1", "BindFailed", "binding g-1 to node n0: refused", 41),
        event("PodGroup", "g", "uid-group-g", "ScheduleTimeout", "60 s are over", 90),
        event("Pod", "other", "uid-other", "Killing", "not ours", 95),
        event("Pod", "g-0", "uid-g-0", "Pulled", "image is here", 96),
    )

    assert [(one.reason, one.what) for one in answer.happened] == [
        ("ScheduleTimeout", "podgroup/g"),
        ("BindFailed", "pod/g-1"),
        ("Unschedulable", "condition PodScheduled"),
    ]


def test_the_running_scheduler_knows_better() -> None:
    key = GangKey("team", GangKind.POD_GROUP, "g")
    live = GangView(
        title="team/g",
        namespace="team",
        kind=GangKind.POD_GROUP,
        name="g",
        state="parked",
        reason="HeldForGang",
        message="There would be room but for what is held for other gangs",
        place=1,
        retry_in_seconds=7.6,
    )
    things = [group("g", 2), *members(2), node("n0", cpu=16)]

    known, guessed = why("g", *things, live={key: live}), why("g", *things)

    assert (known.reason, known.source, known.unknown) == ("HeldForGang", "scheduler", ())
    assert known.next[0] == "it is tried again in 8 s by itself"
    assert guessed.reason == "NotScheduledYet"
    assert "nobody answers" in guessed.unknown[0]


def test_a_description_of_a_scheduler_that_runs_reads_like_a_rehearsal() -> None:
    things: list[Watched] = [group("g", 4), *members(4), node("n0"), node("n1")]
    script = Script(*things)

    views = views_of(script.scheduler.gangs(script.now + 40))

    rehearsed = rehearse(survey_of(*things), (DEFAULT_SCHEDULER_NAME,)).views
    assert [(view.key, view.reason, view.message, view.need, view.place) for view in views.values()] == [
        (view.key, view.reason, view.message, view.need, view.place) for view in rehearsed.values()
    ]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"node": "n0", "phase": "Running"}, "Running"),
        ({"node": "n0"}, "Starting"),
        ({"phase": "Succeeded", "finished_s": 10.0, "node": "n0"}, "Finished"),
        ({"phase": "Failed", "finished_s": 10.0, "node": "n0"}, "Failed"),
        ({"deleting": True}, "Deleting"),
        ({"gated": True}, "SchedulingGated"),
        ({"scheduler": "default-scheduler"}, "SchedulerMismatch"),
        ({"cpu": "lots"}, "InvalidPod"),
    ],
    ids=str,
)
def test_a_pod_that_does_not_wait_for_its_gang_says_so_itself(fields: dict[str, Any], reason: str) -> None:
    answer = why("pod/p", pod("p", **fields), node("n0"))

    assert answer.reason == reason


def test_a_pod_of_another_scheduler_that_has_no_gang_is_left_to_it() -> None:
    alone = why("pod/dns", pod("dns", scheduler="default-scheduler"), node("n0"))
    member = why("pod/p", pod("p", scheduler="default-scheduler", group="g"), group("g", 2), node("n0"))

    assert alone.next[0] == (
        "look at what default-scheduler says of it, it belongs to no gang and needs none: "
        "`kubectl -n team describe pod dns`"
    )
    assert alone.next[1].startswith("only if Gangline is to place it, set `schedulerName: gangline`")
    assert member.next[0].startswith("set `schedulerName: gangline`")


@pytest.mark.parametrize(
    "words",
    [
        ["jobs.v1.batch/j"],
        ["job.batch", "j"],
        ["JOB/j"],
    ],
    ids=" ".join,
)
def test_a_kind_is_spelled_in_all_the_ways_that_kubectl_knows(words: list[str]) -> None:
    assert str(target_of(words, "team")) == "job team/j"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["cronjob/x"], "the kind 'cronjob' has no gangs: use one of pod, podgroup, job"),
        (["pod/"], "names no object"),
        (["pod", "x", "y"], "one object at a time"),
    ],
    ids=["kind", "no name", "too many"],
)
def test_a_target_that_cannot_be_read_is_refused_with_what_would_do(words: list[str], complaint: str) -> None:
    with pytest.raises(TargetError, match=complaint.replace("(", "\\(")):
        target_of(words, "team")


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("pg/trian", "not found; did you mean 'train'?"),
        ("pod/nobody", "name another namespace with -n \\(this was team\\)"),
        ("job/none", "is it suspended or at 0 replicas\\?"),
        ("po", 'there is no PodGroup "po"; of a pod give the name too: pod/NAME'),
    ],
    ids=["typing error", "pod", "owner without pods", "kind alone"],
)
def test_an_object_that_does_not_exist_is_said_to_be_missing(target: str, complaint: str) -> None:
    with pytest.raises(TargetError, match=complaint):
        why(target, group("train", 2), *members(2, "train"))


def test_what_could_not_be_read_is_said() -> None:
    answer: Answer = why("g", group("g", 2), *members(2), node("n0"))

    assert len(answer.unknown) == 1
    assert "not known" in answer.unknown[0]


def maker(kind: str, name: str, wanted: int, **fields: Any) -> Owner:
    """An owner whose pods belong to the PodGroup g."""
    given = {"gang": GangKey("team", GangKind.POD_GROUP, "g"), "wanted": wanted, **fields}
    return Owner(kind=kind, metadata=ObjectMeta(name=name, namespace="team", uid=f"uid-{name}"), **given)


@pytest.mark.parametrize(
    ("made", "lack", "step"),
    [
        (
            maker("ReplicaSet", "rs", 4, problem='pods "rs-" is forbidden: exceeded quota: small, used: pods=2'),
            'replicaset/rs makes no more: pods "rs-" is forbidden: exceeded quota: small',
            "`kubectl -n team describe quota`",
        ),
        (
            maker("Job", "train", 4, is_suspended=True),
            "4 more pods (0 of 4 are here)",
            """Job train is suspended; let it go on: `kubectl -n team patch job/train --type merge -p '{"spec":{"suspend":false}}'`""",
        ),
        (
            maker("Job", "train", 3, completions=9),
            "4 more pods",
            """let Job train run 4 pods at once instead of 3: `kubectl -n team patch job/train --type merge""",
        ),
        (maker("Deployment", "web", 2), "4 more pods", "`kubectl -n team scale deployment/web --replicas 4`"),
        (maker("Deployment", "web", 4), "4 more pods", "`kubectl -n team describe deployment/web`"),
    ],
    ids=["quota", "suspended", "parallelism", "replicas", "enough"],
)
def test_whoever_should_make_the_pods_is_asked_why_there_are_none(made: Owner, lack: str, step: str) -> None:
    answer = why("g", group("g", 4), node("n0"), made)

    assert answer.reason == "NoPods"
    assert lack in answer.missing[0]
    assert step in "\n".join(answer.next)


def test_a_refusal_that_only_an_event_tells_is_found_and_shown() -> None:
    note = 'Error creating: pods "train-" is forbidden: exceeded quota: small'
    refused = event("Job", "train", "uid-train", "FailedCreate", note, 60)

    answer = why("g", group("g", 4), *members(2), node("n0", cpu=16), maker("Job", "train", 4), refused)

    assert f"job/train cannot make them: {note}" in answer.missing[0]
    assert ("job/train", "FailedCreate") in [(one.what, one.reason) for one in answer.happened]


def test_an_owner_without_pods_is_found_by_what_its_template_says() -> None:
    answer = why("deploy/web", group("g", 4), node("n0"), maker("Deployment", "web", 4))

    assert (answer.gang, answer.reason) == ("team/g", "NoPods")


def test_a_gang_of_a_budget_is_judged_as_one() -> None:
    owned: dict[str, Any] = {"owned_by": owner("ReplicaSet", "rs"), "labels": {"app": "rs"}, "cpu": 3}
    pods = [pod(f"rs-{number}", **owned) for number in range(3)]
    things = [*pods, node("n0"), node("n1")]

    formed = why("rs/rs", *things, budget("b", min_available=3, match_labels={"app": "rs"}))
    alone = why("rs/rs", *things)

    assert (formed.reason, formed.gang) == ("Unschedulable", "team/rs (ReplicaSet, no PodGroup)")
    assert "2 of 3 members fit" in formed.summary
    assert alone.figures.min_member == 1


@pytest.mark.parametrize(
    ("now_s", "problems", "reason", "words"),
    [
        (1, (), "JustCreated", "its pods are 1 s old"),
        (100, (), "NotScheduledYet", "nothing has bound them; nobody answers"),
        (1, ("nodes: 403 Forbidden",), "NotScheduledYet", "the scheduler is not ready: nodes: 403 Forbidden"),
    ],
    ids=["young", "old", "not ready"],
)
def test_a_gang_with_room_that_nobody_binds_is_judged_by_its_age(
    now_s: float, problems: tuple[str, ...], reason: str, words: str
) -> None:
    answer = why("g", group("g", 2), *members(2), node("n0", cpu=16), now_s=now_s, problems=problems)

    assert answer.reason == reason
    assert words in answer.summary


def test_a_room_that_is_held_is_marked_and_who_holds_it_is_named() -> None:
    key = GangKey("team", GangKind.POD_GROUP, "g")
    late = GangView(
        title="team/g", namespace="team", kind=GangKind.POD_GROUP, name="g", reason="HeldForGang", message="m"
    )
    holder = GangView(
        title="team/first",
        namespace="team",
        kind=GangKind.POD_GROUP,
        name="first",
        holds=(HoldView("n0", 21.6),),
    )

    answer = why("g", group("g", 1), *members(1), node("n0"), live={key: late, holder.key: holder})

    assert answer.nodes[0].groups[0].nodes[0].detail == "room for 1, held for team/first"
    assert "for 22 s at most" in answer.next[0]
    assert "`gangline why -n team pg/first`" in answer.next[0]


def test_of_a_name_without_kind_the_namesakes_are_offered() -> None:
    with pytest.raises(TargetError, match='there is no PodGroup "lone"; ask for pod/lone or job/lone'):
        why("lone", pod("lone"), node("n0"), maker("Job", "lone", 1))


def test_a_close_name_is_offered_first_with_the_command_that_corrects_it() -> None:
    template: dict[str, Any] = {"labels": {"pod-template-hash": "abc"}, "owned_by": owner("ReplicaSet", "web-abc")}
    answer = why("trian", *members(3, "trian", **template), group("train", 3), node("n0"))

    assert answer.next[0] == (
        "if PodGroup train is meant, correct the label: `kubectl -n team patch deployment/web --type merge "
        """-p '{"spec":{"template":{"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"train"}}}}}'`"""
    )


def test_gated_members_are_not_to_be_created_again() -> None:
    answer = why("g", group("g", 3), *members(1), *(pod(f"x-{n}", group="g", gated=True) for n in range(2)), node("n0"))

    assert "2 held back by scheduling gates" in answer.missing[0]
    assert not any("create the missing pods" in step for step in answer.next)
