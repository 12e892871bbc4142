"""State machines of hypothesis, run so that what they meet can be counted."""

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def run_seeded(machine: type[RuleBasedStateMachine], number: int, *, examples: int) -> None:
    """Run that many examples of 50 steps, the same in every run with this seed and whatever was found before."""
    run_state_machine_as_test(
        seed(number)(type("Seeded", (machine,), {})),
        settings=settings(
            max_examples=examples,
            stateful_step_count=50,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
