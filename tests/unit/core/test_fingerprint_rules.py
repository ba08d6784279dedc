"""The table of facts: whole, and without a line that can never be reached."""

from reprokit.core.environments.fingerprint_rules import RULES, rule_for


def test_no_line_is_hidden_by_an_earlier_one():
    assert [one.field for one in RULES if rule_for(one.field.replace("*", "any-name")) is not one] == []


def test_no_field_has_two_lines():
    fields = [rule.field for rule in RULES]
    assert len(fields) == len(set(fields))


def test_a_field_that_nobody_thought_of_counts_only_if_the_training_saw_it():
    assert rule_for("inside.brand_new").level == "maybe"
    assert rule_for("host.brand_new").level == "no"
    assert rule_for("brand_new").level == "no"


def test_the_table_is_as_it_was_when_the_goldens_were_recorded(file_regression):
    """A line that changes moves every fingerprint: it must be seen in a review (``--force-regen``)."""
    lines = [f"{rule.level:<6}{rule.when:<7}{rule.field}" for rule in RULES]
    file_regression.check("\n".join(lines) + "\n", basename="fingerprint_rules")
