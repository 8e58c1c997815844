"""The requests of an instruction one by one: "heat oil in a pan" and "fry the onions for 5 minutes" of one sentence are two.

A time or a heat setting belongs to the request that it stands in. How a single request is read is in ``imperatives``.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ml.counterfactuals.lexicon.kitchenware import APPLIANCES, HAND_TOOLS, VESSELS
from ml.counterfactuals.lexicon.verbs import COOKING_VERBS, HEATING
from ml.counterfactuals.lexicon.words import words
from ml.counterfactuals.rules.imperatives import OPENERS, Imperative, read_imperative
from ml.counterfactuals.rules.parsing import Token, parse
from ml.counterfactuals.rules.phrases import PRONOUNS, Phrase, singular

_JOINING: Final = words("and then & , ;")
_BETWEEN: Final = words("then and immediately finally gently slowly")
# Nothing that is cooked: it does not stand in for the thing of the next request.
_NO_FOOD: Final = APPLIANCES | VESSELS | HAND_TOOLS | words("heat flame burner temperature timer lid cover boil")


@dataclass(frozen=True)
class Clause:
    """One request at ``start``..``end`` of the instruction; offsets of its imperative count from ``start``."""

    text: str
    start: int
    end: int

    @property
    def imperative(self) -> Imperative | None:
        return read_imperative(self.text)


@lru_cache(maxsize=20_000)
def clauses(instruction: str) -> tuple[Clause, ...]:
    """The requests in order; an instruction with a single one is that whole."""
    tokens = parse(instruction)
    starts = [0]
    opening = bool(tokens) and tokens[0].lower in OPENERS
    for index in range(1, len(tokens)):
        before, token = tokens[index - 1], tokens[index]
        ends_sentence = before.text in (".", "!", ";")
        if ends_sentence:
            opening = token.lower in OPENERS
            starts.append(token.start)
        elif before.lower in _JOINING and _requests(tokens, index) and not _is_begun(tokens, starts[-1], index):
            if opening:  # "Once the pan is hot, add ...": the comma ends the condition, not a request
                opening = False
            else:
                starts.append(token.start)
    ends = [*starts[1:], len(instruction)]
    return tuple(Clause(instruction[start:end], start, end) for start, end in zip(starts, ends, strict=True))


def _is_begun(tokens: tuple[Token, ...], start: int, index: int) -> bool:
    """Whether only joining words stand between the last request's start and the token: ", and then simmer" is one."""
    return start > 0 and all(token.lower in _JOINING | _BETWEEN for token in tokens[:index] if token.start >= start)


def _requests(tokens: tuple[Token, ...], index: int) -> bool:
    """Whether a request begins at the token: a cooking verb in base form that is no noun."""
    while index + 1 < len(tokens) and (tokens[index].lower in _BETWEEN or tokens[index].tag == "RB"):
        index += 1
    token = tokens[index]
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if token.lower not in COOKING_VERBS:
        return False
    if token.tag in ("VB", "VBP"):
        return True
    if following is None:
        return False
    return following.tag in ("DT", "PRP", "PRP$") or (token.lower in HEATING and following.tag in ("IN", "TO"))


def clause_at(instruction: str, at: int) -> Clause:
    """The request that holds place ``at``; one without a verb of its own goes with the one before."""
    found = clauses(instruction)
    index = max(i for i, clause in enumerate(found) if clause.start <= at or i == 0)
    while index > 0 and found[index].imperative is None:
        index -= 1
    return found[index]


def item_at(instruction: str, at: int) -> tuple[Phrase, Clause] | None:
    """What is worked on at a place, with the request that names it: a pronoun or nothing stands for the thing named before."""
    own = clause_at(instruction, at)
    imperative = own.imperative
    if imperative is not None and imperative.item is not None and imperative.item.head not in PRONOUNS:
        return imperative.item, own
    for clause in reversed([clause for clause in clauses(instruction) if clause.start < own.start]):
        before = clause.imperative
        item = before.item if before is not None else None
        if item is not None and item.head not in PRONOUNS and singular(item.head) not in _NO_FOOD:
            return item, clause
    return (imperative.item, own) if imperative is not None and imperative.item is not None else None
