"""Which recordings the sample kitchen has: their source, native id, split, recipe, seed, video rate and file. Writes nothing."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Final

from ml.errors import InputError
from ml.sample_kitchen.script import Recipe, Recording, make_recipe, perform_recipe
from ml.sample_kitchen.world import Behaviour, KitchenSplit

# Mostly few frames, so that rendering is quick; some real camera rates.
RATES: Final[tuple[tuple[Fraction, float], ...]] = ((Fraction(4), 0.95), (Fraction(10), 0.04), (Fraction(30000, 1001), 0.01))
SEED_SPACE: Final = 10**12


class KitchenSource(StrEnum):
    """Folder under the root, one dataset layout each."""

    CAPTAINCOOK4D = "captaincook4d"
    GOALSTEP = "ego4d_goalstep"
    QICD = "qicd"
    EGO_MC_BENCH = "ego_mc_bench"


@dataclass(frozen=True)
class KitchenSizes:
    """Number of recordings of each part."""

    captaincook4d_train: int = 150
    captaincook4d_errors: int = 12
    captaincook4d_validation: int = 24
    captaincook4d_evaluation: int = 64
    captaincook4d_unseen: int = 16
    goalstep: int = 24
    qicd_train: int = 60
    qicd_validation: int = 12
    qicd_test: int = 8
    ego_mc_bench: int = 40
    ego_mc_bench_unseen: int = 12

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < 0:
                raise InputError(
                    f"{value!r} is not a number of recordings", record="KitchenSizes", field=field.name, remedy="Give 0 or more"
                )

    def scaled(self, share: float) -> KitchenSizes:
        """The same kitchen with `share` of the recordings, at least one of each part that has any."""
        return KitchenSizes(**{f.name: max(1, round(getattr(self, f.name) * share)) if getattr(self, f.name) else 0 for f in fields(self)})

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class Entry:
    """One planned recording. `omitted` is the index of a recipe step that is not performed, `swapped` of one that is done one too late."""

    source: KitchenSource
    part: str
    native_id: str
    activity_id: int
    recipe: Recipe
    seed: int
    behaviour: Behaviour
    rate: Fraction
    video: str
    omitted: int | None = None
    swapped: int | None = None

    @property
    def split(self) -> KitchenSplit:
        return self.recipe.split

    @property
    def order(self) -> tuple[int, ...]:
        """Indices of the recipe's instructions in the order in which they are performed."""
        order = [index for index in range(len(self.recipe.instructions)) if index != self.omitted]
        if self.swapped is not None:
            at = order.index(self.swapped)
            order[at], order[at + 1] = order[at + 1], order[at]
        return tuple(order)

    @cached_property
    def recording(self) -> Recording:
        """The script."""
        done = tuple(self.recipe.instructions[index] for index in self.order)
        return perform_recipe(replace(self.recipe, instructions=done), self.seed, self.behaviour)


def plan(sizes: KitchenSizes, seed: int) -> tuple[Entry, ...]:
    """All recordings of the sample kitchen, the same for the same arguments."""
    maker = _Maker(seed)
    return (
        *_captaincook4d(maker, sizes),
        *_goalstep(maker, sizes.goalstep),
        *_qicd(maker, sizes),
        *_ego_mc_bench(maker, sizes),
    )


class _Maker:
    """Hands out recipes with unique names, seeds, rates and activity ids."""

    def __init__(self, seed: int) -> None:
        self.base = SEED_SPACE + (seed % 10**6) * 10**6
        self.made = 0
        self.names: set[str] = set()
        self.activity = 0

    def seed(self) -> int:
        self.made += 1
        return self.base + self.made

    def recipe(self, split: KitchenSplit) -> tuple[int, Recipe]:
        """A new activity. Its ids have holes, as in CaptainCook4D."""
        self.activity += 2 if self.activity % 6 == 5 else 1
        recipe = make_recipe(self.seed(), split)
        name, number = recipe.name, 2
        while name in self.names:
            name, number = f"{recipe.name} {number}", number + 1
        self.names.add(name)
        return self.activity, replace(recipe, name=name)

    def rate(self, seed: int) -> Fraction:
        rates, weights = zip(*RATES, strict=True)
        return random.Random(f"rate-{seed}").choices(rates, weights)[0]

    def entry(
        self, source: KitchenSource, part: str, native_id: str, activity: tuple[int, Recipe], behaviour: Behaviour, video: str
    ) -> Entry:
        seed = self.seed()
        return Entry(source, part, native_id, activity[0], activity[1], seed, behaviour, self.rate(seed), video)


def captaincook4d_video(native_id: str) -> str:
    """Where the CaptainCook4D downloader puts a video."""
    return f"captain_cook_4d/gopro/resolution_360p/{native_id}_360p.mp4"


def _group(
    maker: _Maker, source: KitchenSource, part: str, split: KitchenSplit, count: int, each: int, behaviour: Behaviour
) -> list[Entry]:
    """`count` recordings, `each` performances per activity, with CaptainCook4D's ids."""
    entries = []
    activity = (0, Recipe("", split, 0, ()))
    for index in range(count):
        if index % each == 0:
            activity = maker.recipe(split)
        native_id = f"{activity[0]}_{1 + (index % each) * 3 + activity[0] % 3}"
        entries.append(maker.entry(source, part, native_id, activity, behaviour, captaincook4d_video(native_id)))
    return entries


def _captaincook4d(maker: _Maker, sizes: KitchenSizes) -> list[Entry]:
    source = KitchenSource.CAPTAINCOOK4D
    train = _group(maker, source, "train", KitchenSplit.TRAIN, sizes.captaincook4d_train, 5, Behaviour.CLEAN)
    known = list(dict.fromkeys((e.activity_id, e.recipe) for e in train)) or [maker.recipe(KitchenSplit.TRAIN)]
    errors = []
    for index in range(sizes.captaincook4d_errors):
        activity = known[index % len(known)]
        # The habit of the real ids: error recordings are numbered 26 to 50 and above 100.
        native_id = f"{activity[0]}_{(26 if index % 2 else 101) + index}"
        entry = maker.entry(source, "train", native_id, activity, Behaviour.ERRS, captaincook4d_video(native_id))
        steps = len(activity[1].instructions)
        errors.append(replace(entry, omitted=steps - 1 if index % 3 == 0 else None, swapped=1 if index % 4 == 1 else None))
    return [
        *train,
        *errors,
        *_group(maker, source, "val", KitchenSplit.VALIDATION, sizes.captaincook4d_validation, 4, Behaviour.CLEAN),
        *_group(maker, source, "test", KitchenSplit.EVALUATION, sizes.captaincook4d_evaluation, 4, Behaviour.CLEAN),
        *_group(maker, source, "test", KitchenSplit.UNSEEN, sizes.captaincook4d_unseen, 4, Behaviour.CLEAN),
    ]


def _goalstep(maker: _Maker, count: int) -> list[Entry]:
    """One third valid, the rest train; when there are several, the first is a group of videos in one file (`grp-`)."""
    entries = []
    valid = max(count // 3, int(count > 1))
    for index in range(count):
        part, split = ("val", KitchenSplit.VALIDATION) if index < valid else ("train", KitchenSplit.TRAIN)
        uid = video_uid(maker.base, f"goalstep-{index}")
        native_id = f"grp-{uid}" if index == 0 and count > 1 else uid
        entries.append(maker.entry(KitchenSource.GOALSTEP, part, native_id, maker.recipe(split), Behaviour.CLEAN, f"{native_id}.mp4"))
    return entries


def video_uid(seed: int, name: str) -> str:
    """A uid as Ego4D writes them."""
    return str(uuid.UUID(int=random.Random(f"{seed}-{name}").getrandbits(128), version=4))


def _qicd(maker: _Maker, sizes: KitchenSizes) -> list[Entry]:
    source, errs = KitchenSource.QICD, Behaviour.ERRS
    return [
        *_group(maker, source, "train", KitchenSplit.TRAIN, sizes.qicd_train, 3, errs),
        *_group(maker, source, "validation", KitchenSplit.VALIDATION, sizes.qicd_validation, 3, errs),
        *_group(maker, source, "test", KitchenSplit.EVALUATION, sizes.qicd_test, 2, errs),
    ]


def _ego_mc_bench(maker: _Maker, sizes: KitchenSizes) -> list[Entry]:
    entries = []
    for part, split, count in (
        ("test", KitchenSplit.EVALUATION, sizes.ego_mc_bench),
        ("unseen", KitchenSplit.UNSEEN, sizes.ego_mc_bench_unseen),
    ):
        for entry in _group(maker, KitchenSource.EGO_MC_BENCH, part, split, count, 2, Behaviour.CORRECTS):
            entries.append(replace(entry, video=f"videos/{entry.native_id}.mp4"))
    return entries
