"""Judges without a model: repeatable rules on words, so that everything runs offline. They stand in for an LLM and measure less.

Results name the judge, so that a figure by rules is never taken for one by a model. Replies have the form that a model would give.
"""

import re
from collections.abc import Callable, Mapping

from ml.benchmarks.assistants.polling import read_yes_no
from ml.benchmarks.text_overlap import rouge_l, unicode_tokens

_FUNCTION = "a an and are as at by do does for from i in into is it its of on or so that the then they this to was with you"
_FUNCTION_WORDS = frozenset(_FUNCTION.split())
_DEVIATES = re.compile(
    r"\b(?:mistake|error|wrong|incorrect|instead|rather than|different|mismatch|deviat\w*|not (?:what|as|follow\w*|match\w*|done|the)|"
    r"(?:does|do|did|is|are|was)(?: not|n't) (?:follow|match|agree|do|what|correct))\b",
    re.IGNORECASE,
)
_AGREES = re.compile(r"\b(?:follows|followed|correct(?:ly)?|as (?:asked|instructed|told)|matches|agrees)\b", re.IGNORECASE)
_VAGUE_WORDS = 4

Forms = frozenset[str]


def quality(inputs: Mapping[str, object]) -> str:
    """0..5 by the overlap of content words with the reference, in both directions (ROUGE-L and word F1, the larger)."""
    said, reference = str(inputs["said"]), str(inputs["reference"])
    return str(round(5 * max(rouge_l(said, reference), _word_f1(_content(said), _content(reference)))))


def presence(inputs: Mapping[str, object]) -> str:
    """Whether an answer says that the instruction was not followed: by its opening yes or no, else by words that say so."""
    answer = str(inputs["answer"])
    opening = read_yes_no(answer).is_yes
    if opening is not None:
        return "NO" if opening else "YES"
    deviates, agrees = bool(_DEVIATES.search(answer)), bool(_AGREES.search(answer))
    if deviates:
        return "YES"
    return "NO" if agrees else "I cannot tell"


def element(inputs: Mapping[str, object]) -> str:
    """Whether the deviating element is named, or a word that only one of instruction and truth has."""
    said, asked, seen = (_words(inputs, name) for name in ("answer", "instruction", "original"))
    named = any(str(inputs["element"]) in forms for forms in said)
    return "YES" if named or _share_of(_without(asked, seen) + _without(seen, asked), said) > 0 else "NO"


def observation(inputs: Mapping[str, object]) -> str:
    """Whether the words that the truth has and the instruction has not are in the answer."""
    said, asked, seen = (_words(inputs, name) for name in ("answer", "instruction", "original"))
    return "YES" if _share_of(_without(seen, asked), said) == 1 else "NO"


def failure(inputs: Mapping[str, object]) -> str:
    """Kind of failure by which words the answer holds: those asked for (A), others (B), those seen (C), few (D), else E."""
    said, asked, seen = (_words(inputs, name) for name in ("answer", "instruction", "original"))
    if _share_of(_without(seen, asked), said) == 1:
        return "C"
    if len(said) < _VAGUE_WORDS:
        return "D"
    if _share_of(_without(asked, seen), said) > 0:
        return "A"
    return "B" if _without(said, asked + seen) else "E"


JUDGE_RULES_VERSION = 2  # raise it when a rule changes, so that stored scores are made anew
JUDGE_RULES: dict[str, Callable[[Mapping[str, object]], str]] = {
    "judge_quality": quality,
    "judge_presence": presence,
    "judge_type": element,
    "judge_observation": observation,
    "judge_failure": failure,
}


def _content(text: str) -> list[str]:
    return [word for word in unicode_tokens(text) if word not in _FUNCTION_WORDS]


def _words(inputs: Mapping[str, object], name: str) -> list[Forms]:
    """Content words of an input, each once with its base form: "slices" is "slice" as well."""
    import simplemma

    return [frozenset({word, simplemma.lemmatize(word, "en").lower()}) for word in dict.fromkeys(_content(str(inputs[name])))]


def _without(words: list[Forms], others: list[Forms]) -> list[Forms]:
    """Words that share no form with any of the others."""
    known = frozenset().union(*others)
    return [forms for forms in words if not forms & known]


def _share_of(words: list[Forms], said: list[Forms]) -> float:
    """Share of words that are said in any form; 0 without words."""
    known = frozenset().union(*said)
    return sum(bool(forms & known) for forms in words) / len(words) if words else 0.0


def _word_f1(said: list[str], reference: list[str]) -> float:
    common = len(set(said) & set(reference))
    return 2 * common / (len(set(said)) + len(set(reference))) if common else 0.0
