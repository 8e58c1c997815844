"""What a reply is before anyone reads its content: good, empty, or a refusal in words. Content is read in ``ml.llm.replies``."""

import re
from dataclasses import replace

from ml.llm.calls import Answer
from ml.vocabulary import Status

# A refusal is short, opens with an apology or an inability in the first person, and holds no answer. Long replies or ones that go on to
# answer ("I'm sorry, that should be: {...}") are left to the readers, which judge what they find.
_LONGEST_REFUSAL = 400
_REFUSAL = re.compile(
    r"""^\W*(?:(?:i['’]?m|i\ am|we['’]?re|we\ are)\s+(?:very\s+|so\s+|really\s+)?(?:sorry|afraid)\b[^{}\[\]]{0,60}?)?
        (?:(?:but|that|however)[\s,]+)?(?:as\s+an\s+ai\b[^{}\[\]]{0,60}?)?(?:unfortunately[\s,]+)?
        (?:i|we)\s*(?:['’]m|['’]re|\s+am|\s+are)?\s*
        (?:can['’]?t|cannot|can\s+not|could\s+not|couldn['’]?t|won['’]?t|will\s+not|unable\s+to|not\s+able\s+to|not\s+allowed\s+to|
           not\s+comfortable|must\s+(?:decline|refuse)|have\s+to\s+(?:decline|refuse)|decline\s+to|refuse\s+to)
        \s*(?:to\s+)?(?:be\s+able\s+to\s+)?(?:directly\s+|really\s+|currently\s+)?
        (?:assist|help|comply|engage|fulfil+|proceed|continue\b(?!\w*ing)|answer\s+(?:that|this|your|the)|do\s+(?:that|this)\b|
           (?:provide|produce|generate|create|write|process|identify|describe|analy[sz]e|discuss|respond\s+to)\s+
           (?:that|this|these|those|any|such|an?|the)\s+(?:\w+\s+){0,2}?
           (?:request|content|images?|pictures?|photos?|videos?|persons?|people|information|assistance|answer|response|material|instructions?))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_APOLOGY_ALONE = re.compile(r"^\W*(?:i['’]?m|i\ am)\s+(?:very\s+|so\s+|really\s+)?sorry\W*(?:but\W*)?$", re.IGNORECASE)


def is_refusal(text: str) -> bool:
    """Whether the whole reply is a refusal in words."""
    text = text.strip()
    if len(text) > _LONGEST_REFUSAL or any(mark in text for mark in "{["):
        return False
    return bool(_REFUSAL.match(text) or _APOLOGY_ALONE.match(text))


def judge(answer: Answer) -> Answer:
    """The answer with its outcome by words: a refusal that the provider did not mark, or no text at all."""
    if answer.status is not Status.OK:
        return answer
    if answer.text is None or not answer.text.strip():
        return replace(answer, status=Status.EMPTY, text=None, reason=answer.reason or "the reply has no text")
    if is_refusal(answer.text):
        return replace(answer, status=Status.REFUSED, reason=f"refused in words: {answer.text.strip()[:120]}")
    return answer
