"""Step texts of CaptainCook4D: taking off the verb that the annotation tool put before each text. No files, no rows.

Texts read ``<Verb>-<text>`` with uneven case and spacing (``Coat -Coat a 6-oz. ramekin cup ...``). Most repeat the verb in the text; some
need it (``Add-1/2 tsp salt to the pan``). Changed texts carry the prefix, carry it after a remark (``(Spill)Fill-Fill a ...``), or do not.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PREFIX = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){0,2}")
_REMARK = re.compile(r"^\(([^)]*)\)\s*")
_FRIED = re.compile(r"(?:stir|deep|pan|air)-fr(?:y|ied|ying)\b", re.IGNORECASE)
_BARE_AMOUNT = re.compile(r"[\d¼½¾⅓⅔⅛]|an?\s", re.IGNORECASE)


@dataclass(frozen=True)
class VerbPrefixes:
    """The prefixes of one dataset, learnt from its catalogue of step texts."""

    verbs: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "VerbPrefixes":
        """Prefixes of a catalogue in which every text has one; none where some text has not, since then a hyphen proves nothing."""
        heads = [text.partition("-") for text in texts]
        if not all(hyphen and _PREFIX.fullmatch(head.strip()) for head, hyphen, _ in heads):
            return cls(frozenset())
        return cls(frozenset(head.strip().casefold() for head, _, _ in heads))

    def take_off(self, text: str) -> str:
        """``text`` without its prefix; with the verb put back in words where what remains has none (``Add 1/2 tsp salt to the pan``)."""
        remark = _REMARK.match(text)
        if remark and "-" in text:
            return f"({remark[1]}) {self.take_off(text[remark.end() :])}"
        head, hyphen, rest = text.partition("-")
        while hyphen:
            verb, body = head.strip(), rest.strip()
            if verb and body.casefold().startswith(verb.casefold()):
                return body
            middle, hyphen, rest = rest.partition("-")
            head = f"{head}-{middle}"
        head, hyphen, rest = text.partition("-")
        if hyphen and self._is_prefix(head, rest) and not _FRIED.match(text.strip()):
            return self._join(head.strip(), rest.strip())
        return text.strip()

    def _is_prefix(self, head: str, rest: str) -> bool:
        verb = head.strip()
        spaced = head != head.rstrip() or rest != rest.lstrip()
        return bool(rest.strip()) and (verb.casefold() in self.verbs or (spaced and verb.isalpha()))

    def _join(self, verb: str, body: str) -> str:
        has_verb = any(word.startswith(known) for word in re.findall(r"[a-z]+", body.lower()) for known in self.verbs if len(known) > 2)
        if verb.casefold() in self.verbs and (_BARE_AMOUNT.match(body) or not (has_verb or body[0].isupper())):
            return f"{verb} {body}"
        return body
