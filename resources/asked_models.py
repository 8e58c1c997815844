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
    from ml.llm.threads import SharedClient
    from ml.narration.narrator import Narrator


@dataclass(frozen=True)
class Asked:
    """A model that is open. ``workers`` units may ask it side by side; ``narrator`` is there for narration alone."""

    settings: Assistant
    client: "Answers"
    workers: int
    usage: Callable[[], dict[str, float | int | str | None]]
    narrator: "Narrator | None" = None


@contextmanager
def opened(chosen: Assistant, data: Path) -> Iterator[Asked]:
    """The model of an assistant, closed at the end. Replies are kept by content below ``data``."""
    from ml.llm.local import LocalClient

    cache = reply_cache(data)
    with ExitStack() as stack:
        if chosen.kind is AssistantKind.NARRATION:
            helper = stack.enter_context(_shared(chosen.helper, data))
            workers = chosen.units_at_once if chosen.backend is AssistantBackend.LLM else 1
            yield Asked(chosen, helper, workers, helper.report, _narrator(chosen, data, stack))
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


def narrate_with(narrator: "Narrator") -> "Callable[[Sequence[np.ndarray], Sequence[Sequence[float]]], list[str]]":
    """A narrator as the narration assistant calls it. A window that fails is told as such: the unit it stands in goes on."""
    from ml.video.windows import Window, WindowFrames

    def narrate(windows: "Sequence[np.ndarray]", times_s: Sequence[Sequence[float]]) -> list[str]:
        given = [
            WindowFrames(Window(index, times[0], times[-1]), tuple(times), frames)
            for index, (frames, times) in enumerate(zip(windows, times_s, strict=True))
        ]
        return [told.text or f"(no narration: {told.status.value})" for told in narrator.describe(given)]

    return narrate


def _shared(chosen: LLM, data: Path) -> "SharedClient":
    from ml.llm.threads import SharedClient

    if chosen.batch:
        raise InputError("an assistant needs its answers at once", field="assistants.llm.batch", remedy="Leave `batch` out")
    return SharedClient(open_client(chosen, reply_cache(data), PlatformSettings().values))


def _narrator(chosen: Assistant, data: Path, stack: ExitStack) -> "Narrator":
    from ml.narration.narrator import FramePlan

    plan = FramePlan(chosen.frames_per_second, chosen.box)
    match chosen.backend:
        case AssistantBackend.EMBEDDED:
            from ml.narration.embedded import EmbeddedBackend
            from ml.streaming.narrate import EmbeddedNarrator

            return EmbeddedBackend(EmbeddedNarrator())
        case AssistantBackend.TRANSFORMERS:
            from ml.narration.transformers_backend import TransformersBackend

            return TransformersBackend(chosen.model or "", plan, device=chosen.device)
        case AssistantBackend.LLM:
            from ml.narration.openai_backend import ClientBackend

            provider = "anthropic" if chosen.llm.backend is LLMBackend.ANTHROPIC else "openai"
            return ClientBackend(stack.enter_context(_shared(chosen.llm, data)), plan, provider=provider)
