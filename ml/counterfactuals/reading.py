"""Replies of the counterfactual stages turned into values or outcomes. Tolerant parsing itself is ``ml.llm.replies``."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ml.llm.moments import OR_NONE
from ml.llm.replies import read_dict, read_text, read_timestamp
from ml.vocabulary import Status

Fields = dict[str, str]


@dataclass(frozen=True)
class Attributes:
    """What a step says about one mistake type: ``found`` is empty unless ``status`` is ok."""

    found: tuple[Fields, ...]
    status: Status = Status.OK
    reason: str | None = None


@dataclass(frozen=True)
class Value:
    """One short text, or why there is none."""

    text: str | None
    status: Status = Status.OK
    reason: str | None = None


@dataclass(frozen=True)
class Moment:
    """When the feedback is due; ``start_s`` is the cooking start of timing mistakes."""

    t_s: float | None
    status: Status = Status.OK
    reason: str | None = None
    start_s: float | None = None
    given: Mapping[str, float] = field(default_factory=dict)


def clean(value: object) -> str | None:
    """A field value as text; the many ways of saying nothing are None."""
    if value is None:
        return None
    text = " ".join(str(value).split())
    return None if text.lower() in ("", "none", "null", "n/a", "not stated", "not applicable") else text


def one_attribute(reply: str, needed: tuple[str, ...], names: tuple[str, ...], absent: str) -> Attributes:
    """A dict reply with ``names``, of which ``needed`` must be there; None means that the step has no such attribute."""
    parsed = read_dict(reply)
    if parsed.status is Status.NOT_APPLICABLE:
        return Attributes((), Status.NOT_APPLICABLE, absent)
    if parsed.value is None:
        return Attributes((), parsed.status, parsed.reason)
    return _attribute(parsed.value, needed, names, absent)


def _attribute(value: Mapping[str, object], needed: tuple[str, ...], names: tuple[str, ...], absent: str) -> Attributes:
    fields = {name: text for name in names if (text := clean(value.get(name))) is not None}
    if not fields and any(name in value for name in names):
        return Attributes((), Status.NOT_APPLICABLE, absent)
    if missing := [name for name in needed if name not in fields]:
        return Attributes((), Status.UNPARSABLE, f"the reply has no {missing[0]!r}")
    return Attributes((fields,))


def many_attributes(reply: str, key: str, needed: tuple[str, ...], names: tuple[str, ...], absent: str) -> Attributes:
    """A dict reply with a list of attributes under ``key``, or one attribute as it is."""
    parsed = read_dict(reply)
    if parsed.status is Status.NOT_APPLICABLE:
        return Attributes((), Status.NOT_APPLICABLE, absent)
    if parsed.value is None:
        return Attributes((), parsed.status, parsed.reason)
    rows = parsed.value.get(key)
    if rows is None and any(name in parsed.value for name in needed):
        rows = [parsed.value]
    if rows is None or rows == []:
        return (
            Attributes((), Status.NOT_APPLICABLE, absent) if rows == [] else Attributes((), Status.UNPARSABLE, f"the reply has no {key!r}")
        )
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        return Attributes((), Status.UNPARSABLE, f"{key!r} is not a list of dicts")
    found: list[Fields] = []
    for row in rows:
        attribute = _attribute(row, needed, names, absent)
        if attribute.status is not Status.OK:
            return attribute
        found += attribute.found
    return Attributes(tuple(found))


def short_text(reply: str, what: str, limit: int = 400) -> Value:
    """A one-line reply; None is "not applicable"."""
    parsed = read_text(reply)
    if parsed.status not in (Status.OK, Status.NOT_APPLICABLE):
        return Value(None, parsed.status, parsed.reason)
    text = clean(parsed.value)
    if text is None:
        return Value(None, Status.NOT_APPLICABLE, f"there is no {what}")
    text = text.strip().strip('"“”').strip()
    if len(text) > limit:
        return Value(None, Status.UNPARSABLE, f"the {what} has {len(text)} characters, more than {limit}")
    return Value(text)


def timestamp_fields(reply: str, names: tuple[str, ...]) -> Moment:
    """The numbers under ``names`` of a dict reply, in ``given``; None is "never apparent"."""
    parsed = read_dict(reply)
    if parsed.status is Status.NOT_APPLICABLE:
        return Moment(None, Status.NEVER_APPARENT, "the answer is None: the mistake does not become visible")
    if parsed.value is None:
        return Moment(None, parsed.status, parsed.reason)
    if OR_NONE.search(parsed.ignored):
        return Moment(None, Status.UNPARSABLE, f"a moment or None: {parsed.ignored}")
    given: dict[str, float] = {}
    for name in names:
        if name not in parsed.value:
            return Moment(None, Status.UNPARSABLE, f"the reply has no {name!r}")
        if clean(parsed.value[name]) is None:
            return Moment(None, Status.NEVER_APPARENT, f"{name} is None: the mistake does not become visible")
        second = read_timestamp(str(parsed.value[name]))
        if second.value is None:
            return Moment(None, second.status, f"{name}: {second.reason}")
        given[name] = second.value
    return Moment(None, given=given)
