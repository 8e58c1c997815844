"""General models behind assistants, opened as the settings say: over HTTP, through transformers, or the embedded one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ml.errors import InputError
from ml.setting_sections.benchmarks import Assistant, AssistantBackend, AssistantKind
from ml.setting_sections.models import LLM, LLMBackend
from resources.llm import open_client, reply_cache
from resources.settings import PlatformSettings

if TYPE_CHECKING:
    import numpy as np

    from ml.benchmarks.assistants.asking import Answers
    from ml.benchmarks.assistants.interface import AssistantFactory
    from ml.benchmarks.assistants.turn_based import Narrate
    from ml.llm.threads import SharedClient
    from ml.narration.local import KeptNarrator
    from ml.narration.narrator import Narration, Narrator
    from ml.narration.openai_backend import ClientBackend

Report = dict[str, float | int | str | None]


@dataclass(frozen=True)
class Asked:
    """A model that is open. ``workers`` units may ask it side by side; ``narrator`` is there for narration alone."""

    settings: Assistant
    client: "Answers"
    workers: int
    usage: Callable[[], Report]
    narrator: "Narrator | None" = None


@contextmanager
def opened(chosen: Assistant, data: Path) -> Iterator[Asked]:
    """The model of an assistant, closed at the end. Replies are kept by content below ``data``."""
    from ml.llm.local import LocalClient

    cache = reply_cache(data)
    with ExitStack() as stack:
        if chosen.kind is AssistantKind.NARRATION:
            helper = stack.enter_context(_shared(chosen.helper, data))
            narrator = _narrator(chosen, data, stack)
            workers = chosen.units_at_once if chosen.backend is AssistantBackend.LLM else 1
            yield Asked(chosen, helper, workers, lambda: used_by_both(narrator.report(), helper.report()), narrator)
            return
        match chosen.backend:
            case AssistantBackend.LLM:
                client = stack.enter_context(_shared(chosen.llm, data))
                yield Asked(chosen, client, chosen.units_at_once, client.report)
            case AssistantBackend.TRANSFORMERS:
                from ml.llm.backends.transformers_chat import TransformersChat

                local = LocalClient(TransformersChat(chosen.model or "", chosen.device), cache)
                yield Asked(chosen, local, 1, local.report)
            case AssistantBackend.EMBEDDED:
                from ml.benchmarks.assistants.embedded_clips import EmbeddedDescriber
                from ml.streaming.narrate import EmbeddedNarrator
                from ml.streaming.weights_location import embedded_weights_hash

                local = LocalClient(EmbeddedDescriber(EmbeddedNarrator(), embedded_weights_hash()), cache)
                yield Asked(chosen, local, 1, local.report)


def turn_factory(model: Asked) -> "AssistantFactory":
    """Assistants for EGO: asked about pictures, or about narrations through the helper."""
    from ml.benchmarks.assistants.turn_based import NarrationAssistant, TurnBasedAssistant, TurnOptions

    chosen = model.settings
    options = TurnOptions(
        interval_s=chosen.interval_s,
        history_s=chosen.history_s,
        frame_gap_s=1 / chosen.frames_per_second,
        max_images=chosen.max_images,
        is_detailed=chosen.detailed_prompt,
        max_tokens=chosen.max_tokens,
        temperature=chosen.temperature if model.narrator is None else 0.0,
    )
    if model.narrator is not None:
        narrate = narrate_with(model.narrator)
        return lambda: NarrationAssistant(narrate, model.client, options)
    return lambda: TurnBasedAssistant(model.client, options)


def narrate_with(narrator: "Narrator") -> "Narrate":
    """A narrator as the narration assistant calls it."""
    from ml.video.windows import Window, WindowFrames

    def narrate(frames: "np.ndarray", times_s: Sequence[float]) -> "Narration":
        return narrator.describe([WindowFrames(Window(0, times_s[0], times_s[-1]), tuple(times_s), frames)])[0]

    return narrate


def used_by_both(narrator: Report, helper: Report) -> Report:
    """What two models used together. Money is unknown where either's is."""
    total: Report = {}
    for name in [*narrator, *(name for name in helper if name not in narrator)]:
        values = [report[name] for report in (narrator, helper) if name in report]
        numbers = [value for value in values if isinstance(value, int | float)]
        total[name] = sum(numbers) if len(numbers) == len(values) else None
    prompt = sum(_number(total, name) for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens"))
    total["model"] = f"{narrator['model']}, {helper['model']}"
    total["prefix_hit_rate"] = _number(total, "cache_read_tokens") / prompt if prompt else None
    return total


def _number(report: Report, name: str) -> float:
    value = report.get(name)
    return value if isinstance(value, int | float) else 0


def _shared(chosen: LLM, data: Path) -> "SharedClient":
    from ml.llm.threads import SharedClient

    if chosen.batch:
        raise InputError("an assistant needs its answers at once", field="assistants.llm.batch", remedy="Leave `batch` out")
    return SharedClient(open_client(chosen, reply_cache(data), PlatformSettings().values))


def _narrator(chosen: Assistant, data: Path, stack: ExitStack) -> "ClientBackend | KeptNarrator":
    from ml.narration.local import KeptNarrator
    from ml.narration.narrator import FramePlan

    plan = FramePlan(chosen.frames_per_second, chosen.box)
    match chosen.backend:
        case AssistantBackend.EMBEDDED:
            from ml.streaming.weights_location import embedded_weights_hash

            return KeptNarrator("embedded", plan, _embedded_narrator, {"weights": embedded_weights_hash()}, reply_cache(data))
        case AssistantBackend.TRANSFORMERS:
            from ml.llm.backends.transformers_chat import weights_identity
            from ml.narration.prompts import prompts_hash
            from ml.narration.transformers_backend import MAX_NEW_TOKENS, TransformersBackend

            model = chosen.model or ""
            shaping = {"weights": weights_identity(model), "prompts": prompts_hash(), "max_new_tokens": MAX_NEW_TOKENS}
            return KeptNarrator(model, plan, lambda: TransformersBackend(model, plan, device=chosen.device), shaping, reply_cache(data))
        case AssistantBackend.LLM:
            from ml.narration.openai_backend import ClientBackend

            provider = "anthropic" if chosen.llm.backend is LLMBackend.ANTHROPIC else "openai"
            return ClientBackend(stack.enter_context(_shared(chosen.llm, data)), plan, provider=provider)


def _embedded_narrator() -> "Narrator":
    from ml.narration.embedded import EmbeddedBackend
    from ml.streaming.narrate import EmbeddedNarrator

    return EmbeddedBackend(EmbeddedNarrator())
