"""Scripts: which steps a recording has, what the hands do when, and how the kitchen looks. Nothing is drawn here.

A recording is fully determined by (seed, split, behaviour). Times are float seconds from the start of the recording.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from ml.sample_kitchen.hands import Action, Hands, perform
from ml.sample_kitchen.world import (
    BOWLS,
    COUNTERS,
    HANDS,
    HELD_OUT_CLASSES,
    SLEEVES,
    UNSEEN_BOWLS,
    UNSEEN_COUNTERS,
    UNSEEN_HANDS,
    VALUES,
    Behaviour,
    Colour,
    Instruction,
    Kind,
    KitchenSplit,
    View,
    alternatives,
    items_for,
    kitchen_class,
)
from ml.vocabulary import MistakeType

MIN_STEP_S = 5.0
MAX_STEP_S = 40.0
ERR_SHARE = 0.45
HEAD_SHARE = 0.4
NAME_HEADS = ("Cosy", "Quick", "Sunday", "Golden", "Rustic", "Garden", "Winter", "Picnic", "Village", "Harvest", "Festive", "Simple")
NAME_TAILS = ("Bake", "Pancakes", "Stew", "Salad", "Tart", "Bowl", "Wrap", "Gratin", "Muffins", "Supper", "Brunch", "Dumplings")


@dataclass(frozen=True)
class Recipe:
    """What is to be done, in order. `kitchen` is the class of kitchens it may be cooked in (see `world.held_out`)."""

    name: str
    split: KitchenSplit
    kitchen: int
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Mistake:
    """What went wrong in a step, when that became apparent, and when it was put right (None: never)."""

    mistake_type: MistakeType
    apparent_s: float
    done: Instruction
    corrected_s: float | None


@dataclass(frozen=True)
class Step:
    """One instruction carried out. `scene_s` is when its things stand on the counter; `success_s` is None when it failed."""

    index: int
    instruction: Instruction
    performed: Instruction
    scene_s: float
    start_s: float
    end_s: float
    actions: tuple[Action, ...]
    success_s: float | None
    mistake: Mistake | None
    phase: float


@dataclass(frozen=True)
class Look:
    """Colours and camera of one recording. Lengths are shares of the picture width."""

    view: View
    counter: Colour
    bowl: Colour
    hand: Colour
    sleeve: Colour
    board: Colour
    shift_x: float
    shift_y: float
    scale: float
    sway: float
    tint: float
    noise: float
    brightness: float
    decoration: tuple[tuple[float, float, float, Colour, bool], ...]
    arm_from_right: bool


@dataclass(frozen=True)
class Recording:
    """The script of one recording."""

    seed: int
    split: KitchenSplit
    behaviour: Behaviour
    recipe: Recipe
    counter: str
    bowl: str
    look: Look
    steps: tuple[Step, ...]
    duration_s: float

    @property
    def actions(self) -> tuple[Action, ...]:
        """All atomic actions in time order."""
        return tuple(action for step in self.steps for action in step.actions)


def sequence_split(kinds: tuple[Kind, ...]) -> KitchenSplit:
    """The split that owns a sequence of step kinds: half train, the rest validation and evaluation. Decided by a hash."""
    share = int.from_bytes(sha256("-".join(kinds).encode()).digest()[:4], "big") % 10
    return KitchenSplit.TRAIN if share < 6 else KitchenSplit.VALIDATION if share < 8 else KitchenSplit.EVALUATION


def make_recipe(seed: int, split: KitchenSplit, *, steps: int | None = None) -> Recipe:
    """A recipe of 4 to 8 steps (or `steps`) whose sequence of kinds belongs to `split` (unseen recipes may have any)."""
    rng = random.Random(f"recipe-{split}-{seed}")
    kitchen = rng.randrange(HELD_OUT_CLASSES)
    while True:
        count = steps if steps is not None else rng.randint(4, 8)
        kinds: list[Kind] = []
        while len(kinds) < count:
            bag = list(Kind)
            rng.shuffle(bag)
            kinds += bag
        sequence = tuple(kinds[:count])
        if split is KitchenSplit.UNSEEN or sequence_split(sequence) is split:
            break
    instructions = []
    for kind in sequence:
        instructions.append(Instruction(kind, rng.choice(items_for(kind, split, kitchen)), rng.choice(VALUES[kind])))
    name = f"{rng.choice(NAME_HEADS)} {next((i.item.capitalize() for i in instructions if i.item not in ('tin', 'burner')), 'Kitchen')} "
    return Recipe(name + rng.choice(NAME_TAILS), split, kitchen, tuple(instructions))


def perform_recipe(recipe: Recipe, seed: int, behaviour: Behaviour = Behaviour.CLEAN) -> Recording:
    """One performance of a recipe, in one of the kitchens that its split allows."""
    rng = random.Random(f"performance-{recipe.split}-{behaviour}-{seed}")
    unseen = recipe.split is KitchenSplit.UNSEEN
    if unseen:
        counter, bowl = rng.choice(list(UNSEEN_COUNTERS)), rng.choice(list(UNSEEN_BOWLS))
    else:
        counter, bowl = rng.choice([(c, b) for c in COUNTERS for b in BOWLS if kitchen_class(c, b) == recipe.kitchen])
    look = _look(rng, counter, bowl, unseen)
    tempo = rng.uniform(0.85, 1.25)
    steps: list[Step] = []
    at = rng.uniform(0.2, 2.0)
    scene = 0.0
    erring = _erring(rng, len(recipe.instructions)) if behaviour is not Behaviour.CLEAN else set()
    for index, instruction in enumerate(recipe.instructions):
        performed = _wrong(rng, instruction, behaviour) if index in erring else instruction
        step = _step(rng, index, instruction, performed, behaviour, scene, at, tempo)
        gap = min(5.0, 0.5 + rng.expovariate(0.8))
        scene = step.end_s + gap * rng.uniform(0.3, 0.8)
        steps.append(_until(step, round(scene, 3)))
        at = step.end_s + gap
    return Recording(seed, recipe.split, behaviour, recipe, counter, bowl, look, tuple(steps), round(at + rng.uniform(0.0, 1.5), 3))


def make_recording(seed: int, split: KitchenSplit, kind: Behaviour = Behaviour.CLEAN) -> Recording:
    """The script of recording `seed` of `split`: its own recipe, performed as `kind` says."""
    return perform_recipe(make_recipe(seed, split), seed, kind)


def training_recordings(n: int, seed: int) -> Iterator[Recording]:
    """`n` clean scripts of the train split, each with its own recipe; the same for the same seed, disjoint for different seeds."""
    for index in range(n):
        yield make_recording(1_000_000 + seed * 1_000_000 + index, KitchenSplit.TRAIN)


def _erring(rng: random.Random, count: int) -> set[int]:
    chosen = {index for index in range(count) if rng.random() < ERR_SHARE}
    return chosen or {rng.randrange(count)}


def _wrong(rng: random.Random, instruction: Instruction, behaviour: Behaviour) -> Instruction:
    options = alternatives(instruction)
    if behaviour is Behaviour.CORRECTS and instruction.kind in (Kind.SCOOP, Kind.PLACE, Kind.COOK):
        # The person stops when told, so what is too much is too much by one.
        values = VALUES[instruction.kind]
        next_up = values.index(instruction.value) + 1
        options = tuple(o for o in options if values.index(o.value) <= next_up)
    return rng.choice(options)


def _step(
    rng: random.Random,
    index: int,
    asked: Instruction,
    performed: Instruction,
    behaviour: Behaviour,
    scene_s: float,
    start_s: float,
    tempo: float,
) -> Step:
    while True:
        draw = random.Random(rng.getrandbits(64))
        hands = Hands(draw, start_s, tempo * draw.choice((0.75, 0.9, 1.0, 1.0, 1.15, 1.4)))
        outcome = perform(hands, asked, performed, behaviour is Behaviour.CORRECTS)
        end_s = outcome.done_s + draw.uniform(0.2, 1.0)
        short = MIN_STEP_S - (end_s - start_s)
        if short > 0:
            # A very quick step: the person thinks before acting.
            later = short + draw.uniform(0.0, 1.0)
            hands.shift(later)
            outcome = outcome.shifted(later)
            end_s += later
        if end_s - start_s <= MAX_STEP_S:
            break
    mistake = None
    if asked != performed:
        assert outcome.apparent_s is not None
        mistake = Mistake(
            outcome.mistake_type, round(outcome.apparent_s, 3), performed, round(outcome.done_s, 3) if outcome.corrected else None
        )
    success = round(outcome.done_s, 3) if mistake is None or outcome.corrected else None
    actions = tuple(hands.actions)
    return Step(
        index, asked, performed, round(scene_s, 3), round(start_s, 3), round(end_s, 3), actions, success, mistake, draw.uniform(0, 6.28)
    )


def _until(step: Step, scene_s: float) -> Step:
    """The step with no action reaching into the next scene: what is not in view is not in the truth either."""
    return replace(step, actions=tuple(replace(action, end_s=min(action.end_s, scene_s)) for action in step.actions))


def _jitter(rng: random.Random, colour: Colour, by: int) -> Colour:
    r, g, b = (min(255, max(0, channel + rng.randint(-by, by))) for channel in colour)
    return r, g, b


def _look(rng: random.Random, counter: str, bowl: str, unseen: bool) -> Look:
    view = View.HEAD if rng.random() < HEAD_SHARE else View.ABOVE
    decoration = []
    for _ in range(rng.randint(0, 3)):
        colour = (rng.randrange(70, 220), rng.randrange(70, 220), rng.randrange(70, 220))
        decoration.append((rng.uniform(0.02, 0.98), rng.uniform(0.03, 0.12), rng.uniform(0.04, 0.08), colour, rng.random() < 0.5))
    return Look(
        view=view,
        counter=_jitter(rng, (UNSEEN_COUNTERS if unseen else COUNTERS)[counter], 12),
        bowl=_jitter(rng, (UNSEEN_BOWLS if unseen else BOWLS)[bowl], 10),
        hand=_jitter(rng, rng.choice(UNSEEN_HANDS if unseen else HANDS), 8),
        sleeve=_jitter(rng, rng.choice(SLEEVES), 14),
        board=_jitter(rng, (222, 192, 150), 14),
        shift_x=rng.uniform(-0.04, 0.04),
        shift_y=rng.uniform(-0.03, 0.03),
        scale=rng.uniform(0.94, 1.06),
        sway=rng.uniform(0.008, 0.022) if view is View.HEAD else 0.0,
        tint=rng.uniform(-0.04, 0.04),
        noise=rng.uniform(0.5, 3.5),
        brightness=rng.uniform(0.86, 1.08),
        decoration=tuple(decoration),
        arm_from_right=view is View.ABOVE and rng.random() < 0.5,
    )


def with_look(recording: Recording, **changes: object) -> Recording:
    """The same script seen differently, for instance `with_look(recording, view=View.HEAD)`."""
    return replace(recording, look=replace(recording.look, **changes))  # type: ignore[arg-type]
