"""What is asked after a reply that is of no use, and where a request stands in view of what is stored.

A truncated reply is asked for once more with a higher cap, an unreadable one once more with word of what was wrong. A follow-up is a
request of its own with its own cache key, so that reruns and batches find it; what follows depends on the stored reply alone.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ml.llm.cache import cache_key
from ml.llm.calls import Answer, Backend
from ml.llm.outcomes import judge
from ml.llm.requests import NOTHING_USED, Request, Usage
from ml.vocabulary import Status

AGAIN = "\n\nYour last reply to this could not be read ({why}). Reply once more, in exactly the form asked for."


def follow_up(request: Request, answer: Answer, truncated_cap: int | None) -> Request | None:
    """The request that follows this answer, or None where the answer stands."""
    judged = judge(answer)
    if judged.status is Status.TRUNCATED and truncated_cap is not None and truncated_cap > request.max_tokens:
        return replace(request, max_tokens=truncated_cap)
    if judged.status is Status.OK and judged.text is not None and request.check is not None:
        why = request.check(judged.text)
        if why is not None:
            return replace(request, prompt=request.prompt + AGAIN.format(why=why), check=None)
    return None


@dataclass(frozen=True)
class Turn:
    """``request`` is the question or the last of its follow-ups, ``key`` its cache key. ``answer`` is None where it is to be asked.

    ``before`` is what the stored replies that led here once cost.
    """

    request: Request
    key: str
    answer: Answer | None
    before: Usage = NOTHING_USED


def turns(
    requests: Sequence[Request],
    backend: Backend,
    get: Callable[[Iterable[str]], Mapping[str, Answer]],
    *,
    truncated_cap: int | None = None,
    retry_failed: bool = False,
    on_the_way: Collection[str] = (),
) -> list[Turn]:
    """Where each request stands, in order; ``get`` looks stored answers up. ``retry_failed`` takes a failed last answer as not there.

    So does a cache key in ``on_the_way``: it was sent again, and the new answer is still to come.
    """
    current = [Turn(request, cache_key(request, backend), None) for request in requests]
    moving = list(range(len(current)))
    while moving:
        stored = get(current[place].key for place in moving)
        further = []
        for place in moving:
            here = current[place]
            answer = stored.get(here.key)
            if answer is None:
                continue
            following = follow_up(here.request, answer, truncated_cap)
            if following is not None:
                current[place] = Turn(following, cache_key(following, backend), None, here.before + answer.usage)
                further.append(place)
            elif not ((retry_failed or here.key in on_the_way) and _failed(answer, requests[place])):
                current[place] = replace(here, answer=answer)
        moving = further
    return current


def _failed(answer: Answer, asked: Request) -> bool:
    judged = judge(answer)
    return judged.status is not Status.OK or (asked.check is not None and judged.text is not None and asked.check(judged.text) is not None)
