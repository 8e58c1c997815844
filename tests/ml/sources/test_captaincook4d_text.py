import pytest

from ml.sources.captaincook4d_text import VerbPrefixes

PREFIXES = VerbPrefixes.of(
    ["Coat -Coat a cup", "add-add it", "Measure and add-2 tbsp water", "stir-then stir the bowl", "remove-Remove it", "Fill-Fill a mug"]
)


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("Coat -Coat a 6-oz. ramekin cup", "Coat a 6-oz. ramekin cup"),
        ("Add-1/2 tsp salt to the pan", "Add 1/2 tsp salt to the pan"),
        ("Measure and add-a pinch of salt", "Measure and add a pinch of salt"),
        ("stir-then stir the bowl", "then stir the bowl"),
        ("remove-Briefly remove the pan", "Briefly remove the pan"),
        ("Coat a 6-oz. ramekin cup", "Coat a 6-oz. ramekin cup"),
        ("Fill a microwave-safe mug with whole milk", "Fill a microwave-safe mug with whole milk"),
        ("(Spill)Fill-Fill a microwave-safe mug", "(Spill) Fill a microwave-safe mug"),
        ("Stir-fry the broccoli", "Stir-fry the broccoli"),
        ("Stir-fry-Stir-fry the broccoli", "Stir-fry the broccoli"),
        ("Half Fill- Half Fill a mug", "Half Fill a mug"),
        ("Higher- Increase the heat", "Increase the heat"),
        ("Spill while transferring", "Spill while transferring"),
        ("", ""),
    ],
)
def test_prefix(text, stripped):
    assert PREFIXES.take_off(text) == stripped


def test_a_catalogue_without_prefixes_teaches_none():
    plain = VerbPrefixes.of(["Coat a 6-oz. cup", "Use low-fat milk", "Mix it"])
    assert plain.verbs == frozenset()
    assert plain.take_off("Use low-fat milk") == "Use low-fat milk"
    assert plain.take_off("Add-Add it") == "Add it"
