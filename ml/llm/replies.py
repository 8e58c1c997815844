"""The tolerant reader of model replies: text or a ``Reply`` in, a value or an outcome out. What a stage makes of a value is the stage's.

It runs after the cache, so a better reader needs no new call.

Every reader takes a ``Reply`` or bare text. A reply that is not ok keeps its own outcome (truncated, refused, empty, ...); text that is a
refusal in words is ``refused``; text that leaves a choice is ``unparsable``. No reader shortens a text or moves a value to make it fit.
"""

import re
from collections.abc import Sequence

from ml.llm.literals import LiteralError, find_literal, parse
from ml.llm.moments import NONE, find_moment, find_pair, plain
from ml.llm.parsed import Parsed, Said, text_of, unparsable
from ml.llm.quantities import Duration, find_durations, find_figures, read_figure
from ml.vocabulary import Status

_FENCE = re.compile(r"\A\s*```[\w-]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_WRAPS = (("**", "**"), ("__", "__"), ('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"), ("`", "`"), ("*", "*"))
_EDGE = r"[\s*_`\"'“”‘’()\[\].,:;!#>-]*"
_LABEL = r"(?:(?:the|my|final|correct|best)\s+)*(?:answer|verdict|result|response|output|choice|option|letter)"
_LEAD = re.compile(rf"\A{_EDGE}(?:{_LABEL}\s*(?:\*\*)?\s*(?:is|:|=|-)+\s*)?{_EDGE}", re.IGNORECASE)
_YES_NO = re.compile(r"(yes|no)(?![\w'’]|-\w)", re.IGNORECASE)
_BOTH = re.compile(r"(?:yes|no)\W*(?:and|or|nor|but also)?\W*(yes|no)\b(?!\s+\w)", re.IGNORECASE)
# In one sentence; "yes, no salt was added" has no second verdict, since its "no" goes with the salt.
_YES_AFTER_NO = re.compile(r"[^.!?;\n]*?(?<![\w'’-])yes(?![\w'’]|-\w)", re.IGNORECASE)
_NO_AFTER_YES = re.compile(r"[^.!?;\n]*?(?<![\w'’-])no(?=\s*(?:[,.!?;:)]|\Z|\n|\s(?:it|that|this|he|she|they)\b))", re.IGNORECASE)
_VERDICT = re.compile(rf"\b{_LABEL}\W{{0,4}}(?:is|:|=)\W{{0,6}}(yes|no)\b", re.IGNORECASE)
_NONE_OF_ABOVE = re.compile(r"\bnone\s+of\s+(?:the\s+above|the\s+(?:options|choices|answers|others)|these|them|those)\b", re.IGNORECASE)


def read_yes_no(said: Said) -> Parsed[bool]:
    """The reply opens with the word YES or NO; decoration, "Answer:" and a one-name object around it are allowed.

    ``**YES**.`` is yes; "Eyes", "None", "I would say yes" are neither; "yes and no", "no, yes it is" or a later
    verdict that says otherwise leave one open.
    """
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    lone = _lone_value(text)
    if isinstance(lone, bool):
        return Parsed(lone, Status.OK)
    text = lone if isinstance(lone, str) else text
    rest = text[_end(_LEAD.match(text)) :]
    word = _YES_NO.match(rest)
    if word is None:
        return unparsable("neither YES nor NO at the start", text)
    if _BOTH.match(rest):
        return unparsable("both YES and NO", text)
    is_yes = word.group(1).lower() == "yes"
    if (_NO_AFTER_YES if is_yes else _YES_AFTER_NO).match(rest, word.end()):
        return unparsable("both YES and NO in one sentence", text)
    verdicts = {found.lower() == "yes" for found in _VERDICT.findall(rest)}
    if verdicts - {is_yes}:
        return unparsable("a later verdict says otherwise", text)
    return Parsed(is_yes, Status.OK, ignored=rest[word.end() :].strip(" *_.`\"'\n"))


def read_dict(said: Said, keys: Sequence[str] = ()) -> Parsed[dict[str, object]]:
    """The first balanced object, JSON or Python; one object in a list is taken out. ``keys`` must be there.

    Names are matched to ``keys`` without regard to case, blanks and hyphens. "None" or "N/A" is not_applicable. Anything else is
    unparsable: an unclosed object, a list of texts, a bare text, a stray inner quote.
    """
    value = _literal(said)
    if value.status is not Status.OK:
        return Parsed(None, value.status, value.reason)
    read = value.value[0] if isinstance(value.value, list) and len(value.value) == 1 else value.value
    if read is None:
        return Parsed(None, Status.NOT_APPLICABLE, "the reply is None")
    if not isinstance(read, dict):
        return Parsed(None, Status.UNPARSABLE, f"{_kind(value.value)} where an object was asked")
    if keys:
        known = {plain(key): key for key in keys}
        renamed = {known.get(plain(name), name): part for name, part in read.items()}
        if len(renamed) < len(read):
            return Parsed(None, Status.UNPARSABLE, "two names of the object mean the same")
        if missing := [key for key in keys if key not in renamed]:
            return Parsed(None, Status.UNPARSABLE, f"the object lacks {', '.join(missing)}")
        read = renamed
    return Parsed(read, Status.OK, ignored=value.ignored)


def read_list(said: Said) -> Parsed[list[object]]:
    """The first balanced list; a lone object becomes a list of one. An empty list is a value: truncation is told before reading."""
    value = _literal(said)
    if value.status is not Status.OK:
        return Parsed(None, value.status, value.reason)
    if value.value is None:
        return Parsed(None, Status.NOT_APPLICABLE, "the reply is None")
    if isinstance(value.value, dict):
        return Parsed([value.value], Status.OK, ignored=value.ignored)
    if not isinstance(value.value, list):
        return Parsed(None, Status.UNPARSABLE, f"{_kind(value.value)} where a list was asked")
    return Parsed(value.value, Status.OK, ignored=value.ignored)


def read_text(said: Said, key: str | None = None, labels: Sequence[str] = ()) -> Parsed[str]:
    """One line of text, whole. Quotes or asterisks around all of it, a fence, a leading label of ``labels`` and a line "...:" before it go.

    With ``key``, a reply that is an object gives that name's text. Several lines leave a choice. "None" or "N/A" is not_applicable.
    """
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    fenced = _FENCE.match(text)
    text = (fenced.group(1) if fenced else text).strip()
    if text.startswith(("{", "[")):
        value = read_dict(text, (key,) if key is not None else ())
        if value.value is None:
            return Parsed(None, value.status, value.reason)
        inner = value.value.get(key) if key is not None else next(iter(value.value.values())) if len(value.value) == 1 else None
        if inner is None and key is not None:
            return Parsed(None, Status.NOT_APPLICABLE, f"{key} is None")
        if not isinstance(inner, str):
            return Parsed(None, Status.UNPARSABLE, f"{_kind(inner)} where a text was asked")
        text = inner
    elif text.startswith('"') and isinstance(quoted := _quoted(text), str):
        text = quoted
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    ignored = ""
    if len(lines) == 2 and lines[0].rstrip("*_ ").endswith(":"):
        ignored, lines = lines[0], lines[1:]
    if len(lines) > 1:
        return unparsable(f"{len(lines)} lines where one was asked", text)
    line = _unwrap(lines[0] if lines else "")
    for label in labels:
        if match := re.match(rf"\W{{0,3}}{re.escape(label)}\W{{0,3}}:\W{{0,2}}\s*(?=\S)", line, re.IGNORECASE):
            bare = line[match.end() :]
            line = _unwrap(line[match.end() - 1 :] if line[match.end() - 1] in "\"'“‘" else bare)
            break
    if not line:
        return Parsed(None, Status.EMPTY, "no text in the reply")
    if NONE.match(line):
        return Parsed(None, Status.NOT_APPLICABLE, f"the reply is {line}")
    return Parsed(line, Status.OK, ignored=ignored)


def read_option(said: Said, letters: str, texts: Sequence[str] = ()) -> Parsed[str]:
    """One of the option ``letters`` ("ABCD"), never picked out of a word; an option's own text, if given, counts as its letter.

    "None of the above", "NONE." and "N/A" are not_applicable, with the reason telling which.
    """
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    lone = _lone_value(text)
    text = lone if isinstance(lone, str) else text
    if _NONE_OF_ABOVE.search(text):
        return Parsed(None, Status.NOT_APPLICABLE, "none of the above")
    if NONE.match(text):
        return Parsed(None, Status.NOT_APPLICABLE, "none")
    known = re.escape(letters.upper())
    bare = re.match(rf"\A{_EDGE}(?:option\s+)?([{known}]){_EDGE}\Z", text, re.IGNORECASE)
    if bare:
        return Parsed(bare.group(1).upper(), Status.OK)
    for pattern in (
        rf"\b{_LABEL}\W{{0,4}}(?:(?:seems|appears|is\s+likely|would)\s+to\s+be|would\s+be|is|:|=)\W{{0,6}}(?:option\s+)?([{known}])(?!['’]?\w)",
        rf"(?:\A|(?<=[\s*_(\[]))([{known}])[)\].:](?=[\s*_]|\Z)",
        rf"(?<![\w'’])([{known}])(?!['’]?\w|-\w|(?<=A)\s+(?!(?:or|and|nor|is|seems|because|as|since)\b)[a-z])",  # "A pan": an article
    ):
        found = set(re.findall(pattern, text, re.IGNORECASE if pattern.startswith(r"\b") else 0))
        letters_found = {letter.upper() for letter in found}
        if len(letters_found) == 1:
            return Parsed(letters_found.pop(), Status.OK, ignored=text.strip())
        if letters_found:
            return unparsable(f"several options ({', '.join(sorted(letters_found))})", text)
    same = [
        letter for letter, option in zip(letters.upper(), texts, strict=False) if plain(option) == plain(_unwrap(text.strip().rstrip(".")))
    ]
    if len(same) == 1:
        return Parsed(same[0], Status.OK)
    return unparsable("no option", text)


def read_number(said: Said) -> Parsed[float]:
    """The one number of the reply (``3``, ``1,200``, ``2½``, ``1/2``, ``three``); several different ones leave a choice, NaN is none."""
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    lone = _lone_value(text)
    if isinstance(lone, int | float) and not isinstance(lone, bool):
        return Parsed(float(lone), Status.OK)
    text = lone if isinstance(lone, str) else text
    if NONE.match(text):
        return Parsed(None, Status.NOT_APPLICABLE, "the reply is None")
    whole = read_figure(text.strip(" \n*_`\"'."))
    values = {whole} if whole is not None else set(find_figures(text))
    if len(values) != 1:
        return unparsable("several numbers" if values else "no number", text)
    return Parsed(values.pop(), Status.OK)


def read_duration(said: Said, unit_s: float | None = None) -> Parsed[Duration]:
    """The one duration of the reply in seconds; ``2-3 minutes`` is a range. A bare number counts only where ``unit_s`` says its unit."""
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    lone = _lone_value(text)
    if isinstance(lone, int | float) and not isinstance(lone, bool):
        text = repr(lone)
    text = lone if isinstance(lone, str) else text
    if NONE.match(text):
        return Parsed(None, Status.NOT_APPLICABLE, "the reply is None")
    stated = {found.duration for found in find_durations(text)}
    if len(stated) == 1:
        return Parsed(stated.pop(), Status.OK)
    figure = read_figure(text.strip(" \n*_`\"'."))
    if not stated and figure is not None and unit_s is not None and figure >= 0:
        return Parsed(Duration(figure * unit_s, figure * unit_s), Status.OK)
    return unparsable("several durations" if stated else "no duration with a unit", text)


def read_timestamp(
    said: Said,
    options: Sequence[float] | None = None,
    *,
    clip: tuple[float, float] | None = None,
    offset_s: float = 0.0,
    tolerance_s: float = 0.011,
) -> Parsed[float]:
    """One moment in seconds: ``12.5``, ``12.5 s``, ``00:12``, ``{'timestamp': 12}``. None or N/A is never_apparent.

    ``offset_s`` is added, for replies that count from the start of a window. ``options``: the value must be one of them, within
    ``tolerance_s`` for rounding, and is given back as listed; else off_list, the reason naming the nearest and its distance. ``clip``:
    a value outside is out_of_clip. Nothing is ever moved to fit.
    """
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    seconds = find_moment(text)
    if isinstance(seconds, Parsed):
        return seconds
    value = seconds + offset_s
    if options is not None:
        if not options:
            return Parsed(None, Status.OFF_LIST, f"{value:g} s, but there are no options")
        nearest = min(options, key=lambda option: abs(option - value))
        if abs(nearest - value) > tolerance_s:
            return Parsed(
                None, Status.OFF_LIST, f"{value:g} s is not an option; the nearest, {nearest:g} s, is {abs(nearest - value):g} s away"
            )
        value = nearest
    if clip is not None and not clip[0] <= value <= clip[1]:
        return Parsed(None, Status.OUT_OF_CLIP, f"{value:g} s lies outside {clip[0]:g} to {clip[1]:g} s")
    if value < 0:
        return Parsed(None, Status.OUT_OF_CLIP, f"{value:g} s is before the start")
    return Parsed(value, Status.OK)


def read_span(said: Said, clip: tuple[float, float], *, is_percent: bool = False, is_relative: bool = True) -> Parsed[tuple[float, float]]:
    """A start and an end in seconds of the recording, from "from 2 to 8 s", "2-8", {"start": 2, "end": 8} or [2, 8].

    ``is_percent``: the figures are 0 to 100 of the clip. ``is_relative``: they count from its start, else they are on the recording's
    time line. Out of the clip or reversed is an outcome, never clipped or swapped.
    """
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    figures = find_pair(text)
    if figures is None:
        return unparsable("no start and end", text)
    low, high = figures
    length = clip[1] - clip[0]
    if is_percent:
        low, high = low * length / 100, high * length / 100
    if is_percent or is_relative:
        low, high = low + clip[0], high + clip[0]
    if low > high:
        return Parsed(None, Status.INCONSISTENT, f"it starts at {low:g} s and ends at {high:g} s")
    if low < clip[0] - 1e-9 or high > clip[1] + 1e-9:
        return Parsed(None, Status.OUT_OF_CLIP, f"{low:g} to {high:g} s lies outside {clip[0]:g} to {clip[1]:g} s")
    return Parsed((low, high), Status.OK)


def share_of_round(values: Sequence[float], step_s: float = 5.0) -> float | None:
    """The share of values that are multiples of ``step_s``: near 1 where a model answers in fives. None without values."""
    return sum(abs(value / step_s - round(value / step_s)) < 1e-6 for value in values) / len(values) if values else None


def _literal(said: Said) -> Parsed[object]:
    text = text_of(said)
    if isinstance(text, Parsed):
        return text
    if NONE.match(text):
        return Parsed(None, Status.NOT_APPLICABLE, "the reply is None")
    try:
        found = find_literal(text)
    except LiteralError as error:
        return unparsable(str(error), text)
    return Parsed(found.value, Status.OK, ignored=found.around)


def _lone_value(text: str) -> object:
    """The value of a one-name object, which a schema forces on a plain answer; None for anything else."""
    if "{" not in text:
        return None
    try:
        value = find_literal(text).value
    except LiteralError:
        return None
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None


def _quoted(text: str) -> object:
    """What a JSON string says; None for any other text."""
    try:
        return parse(text)
    except LiteralError:
        return None


def _unwrap(line: str) -> str:
    """The line without quotes or asterisks around all of it; marks that also stand inside stay."""
    for left, right in _WRAPS:
        inner = line[len(left) : len(line) - len(right)]
        if (
            len(line) > len(left) + len(right)
            and line.startswith(left)
            and line.endswith(right)
            and left not in inner
            and right not in inner
        ):
            return _unwrap(inner.strip())
    return line


def _kind(value: object) -> str:
    match value:
        case None:
            return "None"
        case bool():
            return "a truth value"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def _end(match: re.Match[str] | None) -> int:
    return match.end() if match else 0
