import pytest

from docs.conformance import filled, parts


def page(*names: str) -> str:
    return "\n".join(f"ABOVE {name}\n\n<!-- generated: {name} -->\nOUTDATED\n<!-- end -->\n\nBELOW" for name in names)


def test_the_words_between_tables_are_kept_and_the_tables_made_anew() -> None:
    made = filled(page(*parts()))

    assert "OUTDATED" not in made
    assert made.count("ABOVE") == made.count("BELOW") == len(parts())
    assert filled(made) == made


@pytest.mark.parametrize("names", [list(parts())[1:], [*parts(), "figures"]], ids=["missing", "twice"])
def test_a_part_that_is_not_there_exactly_once_is_named(names: list[str]) -> None:
    with pytest.raises(ValueError, match="generated: figures"):
        filled(page(*names))
