"""Descriptions as instructions, by rule: Goal-Step and Ego-Exo4D describe what is done, an assistant says what to do.

"adds the flour to the bowl" becomes "Add the flour to the bowl." Only a text that starts with a cooking verb can be turned.
"""

import re

_LABEL = re.compile(r"^(?:#\w+\s+)?(?:C|the person|person|the camera wearer|someone)\s+(?=\w)", re.IGNORECASE)


def instruction_of(description: str) -> str | None:
    """The imperative of a description in the third person or bare form; None where its first word is no cooking verb."""
    from ml.counterfactuals.lexicon.verbs import COOKING_VERBS
    from ml.counterfactuals.rules.parsing import verb_lemma

    text = _LABEL.sub("", " ".join(description.split())).rstrip(" .")
    first, _, rest = text.partition(" ")
    lemma = verb_lemma(first.lower())
    return f"{lemma.capitalize()} {rest}".rstrip() + "." if lemma in COOKING_VERBS else None
