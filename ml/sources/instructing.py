"""Descriptions as instructions, by rule: Goal-Step and Ego-Exo4D describe what is done, an assistant says what to do.

"adds the flour to the bowl" becomes "Add the flour to the bowl." Only a text that starts with a verb can be turned; others give None.
"""

import re

_LABEL = re.compile(r"^(?:#\w+\s+)?(?:C|the person|person|the camera wearer|someone)\s+(?=\w)", re.IGNORECASE)


def instruction_of(description: str) -> str | None:
    """The imperative of a description in the third person or bare form; None where its first word is not a verb."""
    from ml.counterfactuals.rules.parsing import verb_lemma

    text = _LABEL.sub("", " ".join(description.split())).rstrip(" .")
    first, _, rest = text.partition(" ")
    if not first.isalpha():
        return None
    lemma = verb_lemma(first.lower())
    return f"{lemma.capitalize()} {rest}".rstrip() + "." if lemma else None
