"""When a wrong preparation or technique becomes apparent: the moment at which that way of doing starts."""

from ml.counterfactuals.lexicon.verbs import COOKING_VERBS
from ml.counterfactuals.rules.mentions import ADDING, Inputs, mentions, text_of
from ml.counterfactuals.rules.parsing import verb_lemma
from ml.counterfactuals.rules.timeline import Timeline, Window, content_words, lemmas


def find_way(inputs: Inputs, timeline: Timeline) -> float | None:
    used = text_of(inputs, "technique") or text_of(inputs, "method")
    thing = text_of(inputs, "item") or text_of(inputs, "object")
    words = content_words(used) - content_words(thing)
    if not words:
        words = content_words(used)
    verb = verb_lemma(used.split()[0]) if used else ""
    scores = [_way_score(window, words, verb, thing) for window in timeline.windows]
    top = max(scores)
    if top < 1.5:
        return _any_work(timeline, thing)
    threshold = 0.6 * top
    for index, score in enumerate(scores):
        if score >= threshold:
            at = timeline.onset_s(index)
            if at >= timeline.clip_start_s - 2.5:
                return timeline.option_at(at)
    return None


def _way_score(window: Window, words: frozenset[str], verb: str, thing: str) -> float:
    """How much of the way of doing a window tells. The thing counts as one more word; without it, tools alone say little."""
    named = bool(thing) and mentions(window.text, thing)
    best = 0.0
    for sentence in window.sentences:
        hits = words & lemmas(sentence)
        score = float(len(hits))
        if named and score and not mentions(sentence, thing):
            score = max(score - 0.5, 0.5)
        if not named:
            score -= 0.5 if verb in hits else 1.5
        best = max(best, score)
    return best + (1.0 if named and best else 0.0)


def _any_work(timeline: Timeline, thing: str) -> float | None:
    """Where no window names the way: the first that works on the thing at all."""
    if not thing:
        return None
    for index, window in enumerate(timeline.windows):
        for sentence in window.sentences:
            if mentions(sentence, thing) and lemmas(sentence) & (COOKING_VERBS - ADDING - frozenset({"wipe", "hold", "wash", "rinse"})):
                return timeline.option_at(timeline.onset_s(index))
    return None
