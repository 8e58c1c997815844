"""Pairing of predicted with reference times on one time line. Knows times only: no texts, no counts, no tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ml.benchmarks.ego.options import TOLERANCE_S, EgoOptions, Matching

Pair = tuple[int, int]
Near = Callable[[float], bool]
Allowed = Callable[[int, int], bool]


@dataclass(frozen=True)
class Paired:
    """``pairs`` are (reference index, prediction index) in input numbering, in reference order.

    ``hit_predictions`` counts predictions that precision takes as right; it differs from the pairs for one-to-many rules only.
    ``wrong_predictions`` are those that no rule accounts for.
    """

    pairs: tuple[Pair, ...]
    hit_predictions: int
    wrong_predictions: tuple[int, ...]


def pair_events(
    references_s: Sequence[float], predictions_s: Sequence[float], options: EgoOptions, allowed: Allowed | None = None
) -> Paired:
    """Pair by ``options.matching``. Times in seconds in any order; ties go to the earlier time, then to input order.

    ``allowed(reference, prediction)`` forbids pairs for other reasons than time.
    """
    permitted = allowed if allowed is not None else _all_allowed
    match options.matching:
        case Matching.OPTIMAL:
            pairs = (
                optimal_pairs(references_s, predictions_s, options.near)
                if allowed is None
                else constrained_pairs(references_s, predictions_s, options.near, permitted)
            )
        case Matching.CLOSEST_FIRST:
            pairs = _closest_first(references_s, predictions_s, options.near, permitted)
        case Matching.PREDICTION_ORDER:
            pairs = _prediction_order(references_s, predictions_s, options.near, permitted)
        case Matching.ANY_IN_WINDOW:
            return _any_in_window(references_s, predictions_s, options.near, permitted)
        case Matching.TWO_DIRECTIONS:
            return _two_directions(references_s, predictions_s, options.near, permitted)
    used = {prediction for _, prediction in pairs}
    return Paired(tuple(pairs), len(pairs), tuple(p for p in range(len(predictions_s)) if p not in used))


def _all_allowed(reference: int, prediction: int) -> bool:
    return True


def _by_time(times_s: Sequence[float]) -> list[int]:
    return sorted(range(len(times_s)), key=lambda index: (times_s[index], index))


def optimal_pairs(references_s: Sequence[float], predictions_s: Sequence[float], near: Near) -> list[Pair]:
    """Most pairs, then least sum of |dt|, then the lexicographically earliest list of pairs in time order.

    On a line such a matching never crosses (uncrossing two pairs raises neither sum nor longest distance), so a table over
    suffixes of both sorted lists finds it: O(references x predictions).
    """
    if not references_s or not predictions_s:
        return []
    if len(references_s) == 1:
        return _single(references_s[0], predictions_s, near)
    r_order, p_order = _by_time(references_s), _by_time(predictions_s)
    r, p = [references_s[i] for i in r_order], [predictions_s[j] for j in p_order]
    count = [[0] * (len(p) + 1) for _ in range(len(r) + 1)]
    cost = [[0.0] * (len(p) + 1) for _ in range(len(r) + 1)]
    for i in range(len(r) - 1, -1, -1):
        for j in range(len(p) - 1, -1, -1):
            n, c = count[i + 1][j], cost[i + 1][j]
            if (count[i][j + 1], -cost[i][j + 1]) > (n, -c):
                n, c = count[i][j + 1], cost[i][j + 1]
            if near(p[j] - r[i]):
                n_pair, c_pair = count[i + 1][j + 1] + 1, cost[i + 1][j + 1] + abs(p[j] - r[i])
                if (n_pair, -c_pair) > (n, -c):
                    n, c = n_pair, c_pair
            count[i][j], cost[i][j] = n, c
    pairs: list[Pair] = []
    first = 0
    for i in range(len(r)):
        # The earliest prediction that still reaches the optimum of the rest; none: this reference stays unpaired.
        for j in range(first, len(p)):
            if not near(p[j] - r[i]) or count[i + 1][j + 1] + 1 != count[i][first]:
                continue
            if abs(cost[i + 1][j + 1] + abs(p[j] - r[i]) - cost[i][first]) <= TOLERANCE_S:
                pairs.append((r_order[i], p_order[j]))
                first = j + 1
                break
    return sorted(pairs)


def _single(reference_s: float, predictions_s: Sequence[float], near: Near) -> list[Pair]:
    candidates = [(abs(t - reference_s), t, j) for j, t in enumerate(predictions_s) if near(t - reference_s)]
    if not candidates:
        return []
    least = min(candidates)[0]
    return [(0, min((t, j) for distance, t, j in candidates if distance <= least + TOLERANCE_S)[1])]


def constrained_pairs(references_s: Sequence[float], predictions_s: Sequence[float], near: Near, allowed: Allowed) -> list[Pair]:
    """The same optimum when some pairs are forbidden, where pairs may have to cross: an assignment problem.

    The lexicographically earliest optimum is found by fixing pairs one after the other while the optimum holds.
    """
    from scipy.optimize import linear_sum_assignment

    r_order, p_order = _by_time(references_s), _by_time(predictions_s)
    possible = [[near(predictions_s[p] - references_s[r]) and allowed(r, p) for p in p_order] for r in r_order]
    distance = [[abs(predictions_s[p] - references_s[r]) for p in p_order] for r in r_order]
    gain = 1.0 + sum(map(max, distance)) if distance and distance[0] else 1.0

    def best(rows: list[int], columns: list[int]) -> tuple[int, float]:
        if not rows or not columns:
            return 0, 0.0
        costs = np.array([[distance[i][j] - gain if possible[i][j] else 0.0 for j in columns] for i in rows])
        chosen = [(rows[a], columns[b]) for a, b in zip(*linear_sum_assignment(costs), strict=True) if possible[rows[a]][columns[b]]]
        return len(chosen), sum(distance[i][j] for i, j in chosen)

    rows, columns = list(range(len(r_order))), list(range(len(p_order)))
    wanted, least = best(rows, columns)
    pairs: list[Pair] = []
    while rows and wanted:
        i = rows.pop(0)
        for j in columns:
            if not possible[i][j]:
                continue
            n, c = best(rows, [other for other in columns if other != j])
            if n + 1 == wanted and abs(c + distance[i][j] - least) <= TOLERANCE_S:
                pairs.append((r_order[i], p_order[j]))
                columns.remove(j)
                wanted, least = n, c
                break
    return sorted(pairs)


def _closest_first(references_s: Sequence[float], predictions_s: Sequence[float], near: Near, allowed: Allowed) -> list[Pair]:
    r_rank, p_rank = _by_time(references_s), _by_time(predictions_s)
    candidates = sorted(
        (abs(predictions_s[j] - references_s[i]), a, b, i, j)
        for a, i in enumerate(r_rank)
        for b, j in enumerate(p_rank)
        if near(predictions_s[j] - references_s[i]) and allowed(i, j)
    )
    pairs: dict[int, int] = {}
    used: set[int] = set()
    for *_, i, j in candidates:
        if i not in pairs and j not in used:
            pairs[i] = j
            used.add(j)
    return sorted(pairs.items())


def _prediction_order(references_s: Sequence[float], predictions_s: Sequence[float], near: Near, allowed: Allowed) -> list[Pair]:
    r_order = _by_time(references_s)
    pairs: dict[int, int] = {}
    for j in _by_time(predictions_s):
        free = [
            (abs(predictions_s[j] - references_s[i]), rank, i)
            for rank, i in enumerate(r_order)
            if i not in pairs and near(predictions_s[j] - references_s[i]) and allowed(i, j)
        ]
        if free:
            pairs[min(free)[2]] = j
    return sorted(pairs.items())


def _any_in_window(references_s: Sequence[float], predictions_s: Sequence[float], near: Near, allowed: Allowed) -> Paired:
    pairs: list[Pair] = []
    accounted: set[int] = set()
    for i, reference_s in enumerate(references_s):
        inside = [(abs(t - reference_s), t, j) for j, t in enumerate(predictions_s) if near(t - reference_s) and allowed(i, j)]
        accounted.update(j for _, _, j in inside)
        if inside:
            pairs.append((i, min(inside)[2]))
    return Paired(tuple(pairs), len(pairs), tuple(j for j in range(len(predictions_s)) if j not in accounted))


def _two_directions(references_s: Sequence[float], predictions_s: Sequence[float], near: Near, allowed: Allowed) -> Paired:
    """Each reference in time order takes the nearest later-than-taken prediction, and each prediction likewise a reference."""
    forward = _monotone_nearest(references_s, predictions_s, near, allowed)
    backward = _monotone_nearest(predictions_s, references_s, near, lambda prediction, reference: allowed(reference, prediction))
    hit = {prediction for prediction, _ in backward}
    return Paired(tuple(sorted(forward)), len(hit), tuple(j for j in range(len(predictions_s)) if j not in hit))


def _monotone_nearest(from_s: Sequence[float], to_s: Sequence[float], near: Near, allowed: Allowed) -> list[Pair]:
    order = _by_time(to_s)
    pairs: list[Pair] = []
    first = 0
    for a in _by_time(from_s):
        inside = [
            (abs(to_s[b] - from_s[a]), rank, b)
            for rank, b in enumerate(order[first:], first)
            if near(to_s[b] - from_s[a]) and allowed(a, b)
        ]
        if inside:
            _, rank, b = min(inside)
            pairs.append((a, b))
            first = rank + 1
    return pairs
