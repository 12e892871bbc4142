"""Giving way to another writer of the phase, and to no one else."""

from controller.core.rivals import Rivals, Verdict

UID = "uid-1"


class War:
    """We write Running, the other writer Scheduling; versions go up by one with each write."""

    def __init__(self) -> None:
        self.rivals = Rivals()
        self.version = 0

    def we_write(self, phase: str = "Running", **counts: int) -> None:
        self.version += 1
        verdict = Verdict(phase=phase, **counts)
        self.rivals.sends(UID, verdict)
        self.rivals.wrote(UID, verdict, resource_version=str(self.version))

    def they_write(self, now: float, phase: str = "Scheduling", **counts: int) -> bool:
        self.version += 1
        return self.observe(now, phase, self.version, **counts)

    def observe(self, now: float, phase: str, version: int, **counts: int) -> bool:
        verdict = Verdict(phase=phase, **counts)
        return self.rivals.observed(UID, verdict, resource_version=str(version), now=now)


def test_three_reversals_within_a_minute_make_us_give_way_for_ten_minutes() -> None:
    war, gave_way = War(), []
    for now in (0.0, 20.0, 59.0):
        war.we_write()
        gave_way.append(war.they_write(now))
    assert gave_way == [False, False, True]
    assert war.rivals.quiet_s(UID, 60.0) == 599.0
    assert war.rivals.quiet_count(60.0) == 1
    assert war.rivals.quiet_s(UID, 659.0) == 0.0


def test_counts_alone_are_worth_a_quarrel_once_we_insist() -> None:
    war, gave_way = War(), []
    for now in (0.0, 1.0, 2.0, 3.0):
        war.we_write(running=3)
        gave_way.append(war.they_write(now, "Running", running=5))
    assert gave_way == [False, False, False, True]


def test_counts_that_lag_behind_while_members_start_are_no_reversals() -> None:
    war = War()
    for running in range(1, 50):
        war.we_write(running=running)
        assert not war.they_write(running / 10, "Running", running=running - 1)


def test_three_reversals_in_more_than_a_minute_are_borne() -> None:
    war, gave_way = War(), []
    for now in (0.0, 31.0, 62.0, 93.0):
        war.we_write()
        gave_way.append(war.they_write(now))
    assert gave_way == [False] * 4


def test_a_reversal_counts_once_however_often_it_is_observed() -> None:
    war = War()
    war.we_write()
    assert [war.they_write(0.0), *(war.observe(1.0, "Scheduling", war.version) for _ in range(5))] == [False] * 6


def test_our_own_writes_are_no_reversals() -> None:
    war = War()
    for now in range(10):
        war.we_write()
        assert not war.observe(float(now), "Running", war.version)
        war.we_write("Scheduling")
        assert not war.observe(float(now), "Scheduling", war.version)


def test_a_write_that_is_observed_before_its_reply_is_no_reversal() -> None:
    war = War()
    war.we_write("Running")
    for now in range(10):
        war.rivals.sends(UID, Verdict(phase="Scheduling"))
        assert not war.observe(float(now), "Scheduling", war.version + 1)
        war.we_write("Scheduling")
        war.we_write("Running")


def test_writes_whose_replies_never_came_are_no_reversals() -> None:
    war = War()
    war.we_write(running=1)
    for running in (2, 3, 4, 5):
        war.rivals.sends(UID, Verdict(phase="Running", running=running))
    for running in (2, 3, 4, 5):
        war.version += 1
        assert not war.observe(1.0, "Running", war.version, running=running)


def test_versions_from_before_our_write_are_no_reversals() -> None:
    war = War()
    war.version = 100
    for now in range(10):
        war.we_write("Running")
        assert not war.observe(float(now), "Pending", 50)


def test_a_group_that_we_never_wrote_has_no_rival() -> None:
    war = War()
    assert [war.they_write(0.0, phase) for phase in ("Pending", "Running", "Pending", "Running")] == [False] * 4


def test_a_group_that_is_gone_is_forgotten() -> None:
    war = War()
    for now in (0.0, 1.0, 2.0):
        war.we_write()
        war.they_write(now)
    war.rivals.forget(UID)
    assert (war.rivals.quiet_s(UID, 3.0), war.rivals.quiet_count(3.0)) == (0.0, 0)


def test_a_reply_that_comes_after_the_group_is_gone_leaves_nothing_behind() -> None:
    rivals = Rivals()
    rivals.sends(UID, Verdict(phase="Running"))
    rivals.forget(UID)
    rivals.wrote(UID, Verdict(phase="Running"), resource_version="1")
    assert len(rivals) == 0
