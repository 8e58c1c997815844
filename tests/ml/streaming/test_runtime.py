from dataclasses import replace

import numpy as np
import pytest
import torch

from ml.errors import InputError
from ml.streaming.batch_runtime import StepStream, block_probabilities, messages_for_steps
from ml.streaming.head import SpeakHead
from ml.streaming.runtime import SpeakingModel, StreamingAssistant
from ml.streaming.settings import RuntimeSettings, Thresholds
from ml.streaming.thresholds import (
    FirstMessageScore,
    best_thresholds,
    pick_thresholds,
    read_thresholds,
    validation_streams,
    write_thresholds,
)
from ml.streaming.untuned import UntunedSpeaker
from ml.vocabulary import MessageKind

REQUESTS = ("Add 3 scoops of cocoa to the bowl.", "Peel the apple.", "Turn the burner to low.")


def frames(count: int, seed: int) -> np.ndarray:
    """Noise whose brightness changes from block to block, so that a random head tells blocks apart."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.integers(0, 256, (count // 2, 1, 1, 3)), 2, axis=0)
    return np.clip(levels + rng.integers(-60, 60, (count, 64, 64, 3)), 0, 255).astype(np.uint8)


def half_speaking(model, settings: RuntimeSettings) -> SpeakingModel:
    """A random head, and thresholds at which it speaks now and then, both kinds."""
    torch.manual_seed(3)
    head = SpeakHead(model.hidden_size)
    torch.nn.init.normal_(head.speak.weight, std=1.0)
    head.speak.bias.data.zero_()
    speaker = SpeakingModel(model, head.eval(), Thresholds(), settings)
    probabilities = block_probabilities(speaker, streams(model, 6))
    products = np.concatenate([np.array(speak) * np.array(feedback) for speak, feedback in probabilities])
    others = np.concatenate([np.array(speak) * (1 - np.array(feedback)) for speak, feedback in probabilities])
    return replace(speaker, thresholds=Thresholds(float(np.quantile(products, 0.7)), float(np.quantile(others, 0.93))))


def streams(model, count: int) -> list[StepStream]:
    made = []
    for seed in range(count):
        blocks = 4 + seed % 7
        times = tuple((10.0 * seed + block, 10.0 * seed + block + 0.5) for block in range(blocks))
        made.append(StepStream(REQUESTS[seed % 3], model.encode_video(frames(2 * blocks, seed)), times))
    return made


@pytest.fixture
def speaker(model) -> SpeakingModel:
    return half_speaking(model, RuntimeSettings(min_gap_s=2.0, max_reply_tokens=6))


def run_cached(speaker: SpeakingModel, stream: StepStream, seed: int):
    assistant = StreamingAssistant(speaker)
    assistant.start(stream.instruction, stream.times_s[0][0])
    video = frames(2 * len(stream.times_s), seed)
    said = []
    for block, times in enumerate(stream.times_s):
        said += assistant.observe(video[2 * block : 2 * block + 2], times)
    return said, assistant.suppressed


def test_cached_streaming_and_full_forward_say_the_same(speaker):
    made = streams(speaker.model, 14)
    batched = messages_for_steps(speaker, made)
    for seed, (stream, messages) in enumerate(zip(made, batched, strict=True)):
        said, suppressed = run_cached(speaker, stream, seed)
        assert [(one.t_s, one.kind, one.text) for one in said] == [(one.t_s, one.kind, one.text) for one in messages.utterances]
        assert suppressed == messages.suppressed
        for mine, theirs in zip(said, messages.utterances, strict=True):
            assert mine.score == pytest.approx(theirs.score, abs=1e-4)
    kinds = {one.kind for messages in batched for one in messages.utterances}
    assert kinds == {MessageKind.FEEDBACK, MessageKind.SUCCESS}
    assert any(messages.suppressed or len(messages.utterances) > 1 for messages in batched)


def test_reply_begins_with_the_kind_that_was_decided(model):
    always = SpeakHead(model.hidden_size)
    always.speak.bias.data.fill_(50.0)
    for thresholds, kind in ((Thresholds(0.0, 1.0), MessageKind.FEEDBACK), (Thresholds(1.0, 0.0), MessageKind.SUCCESS)):
        said = messages_for_steps(SpeakingModel(model, always, thresholds, RuntimeSettings(max_reply_tokens=4)), streams(model, 2))
        assert all(messages.utterances[0].kind is kind for messages in said)


def test_how_frames_are_handed_over_makes_no_difference(speaker):
    stream = streams(speaker.model, 3)[2]
    video = frames(2 * len(stream.times_s), 2)
    times = [t_s for block in stream.times_s for t_s in block]
    results = []
    for size in (1, 2, 3, len(times)):
        assistant = StreamingAssistant(speaker)
        assistant.start(stream.instruction, times[0])
        results.append(
            [one for at in range(0, len(times), size) for one in assistant.observe(video[at : at + size], times[at : at + size])]
        )
    assert all(result == results[0] for result in results)


def test_later_frames_change_nothing_said_before(speaker):
    stream = streams(speaker.model, 6)[5]
    whole = messages_for_steps(speaker, [stream])[0].utterances
    for blocks in range(1, len(stream.times_s)):
        cut = replace(stream, features=stream.features[:blocks], times_s=stream.times_s[:blocks])
        said = messages_for_steps(speaker, [cut])[0].utterances
        assert said == [one for one in whole if one.t_s <= cut.times_s[-1][1]]


def test_a_message_is_stamped_with_the_last_frame_seen(speaker):
    for seed, stream in enumerate(streams(speaker.model, 5)):
        for one in run_cached(speaker, stream, seed)[0]:
            assert one.t_s in {times[-1] for times in stream.times_s}


def test_two_assistants_share_a_model_without_mixing(speaker):
    made = streams(speaker.model, 6)[4:6]
    alone = [run_cached(speaker, stream, seed)[0] for seed, stream in enumerate(made)]
    assistants = [StreamingAssistant(speaker) for _ in made]
    for assistant, stream in zip(assistants, made, strict=True):
        assistant.start(stream.instruction, stream.times_s[0][0])
    together: list[list] = [[], []]
    videos = [frames(2 * len(stream.times_s), seed) for seed, stream in enumerate(made)]
    for block in range(max(len(stream.times_s) for stream in made)):
        for number, (assistant, stream) in enumerate(zip(assistants, made, strict=True)):
            if block < len(stream.times_s):
                together[number] += assistant.observe(videos[number][2 * block : 2 * block + 2], stream.times_s[block])
    assert together == alone


@pytest.mark.parametrize("keep_context", [False, True])
def test_several_steps_in_one_stream(model, keep_context):
    """Every block ends a step; with the context kept, scores are those of one full forward over the whole recipe."""
    torch.manual_seed(1)
    head = SpeakHead(model.hidden_size)
    torch.nn.init.normal_(head.speak.weight, std=0.3)
    settings = RuntimeSettings(min_gap_s=0.0, max_reply_tokens=4, keep_context=keep_context)
    speaker = SpeakingModel(model, head.eval(), Thresholds(1.0, 0.0), settings)
    assistant = StreamingAssistant(speaker)
    assistant.start(REQUESTS[0], 0.0)
    said, video = [], frames(12, 1)
    for block in range(6):
        for one in assistant.observe(video[2 * block : 2 * block + 2], [block, block + 0.5]):
            said.append(one)
            assistant.give_instruction(REQUESTS[len(said) % 3], one.t_s)
    assert [one.t_s for one in said] == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    sequence = assistant._sequence
    if keep_context:
        hidden, _ = model.hidden_states([sequence], [model.encode_video(video)])
        speak, feedback = speaker.probabilities(hidden[0, sequence.block_ends])
        expected = [p * (1 - f) for p, f in zip(speak, feedback, strict=True)]
        assert [one.score for one in said] == pytest.approx(expected, abs=1e-4)
    else:
        assert sequence.block_ends == []


def test_after_success_it_is_silent_until_the_next_instruction(model):
    always = SpeakHead(model.hidden_size)
    always.speak.bias.data.fill_(50.0)
    assistant = StreamingAssistant(SpeakingModel(model, always, Thresholds(1.0, 0.0), RuntimeSettings(max_reply_tokens=3)))
    assistant.start(REQUESTS[0], 0.0)
    assert len(assistant.observe(frames(8, 0), [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5])) == 1
    assistant.give_instruction(REQUESTS[1], 4.0)
    assert len(assistant.observe(frames(4, 1), [4, 4.5, 5, 5.5])) == 1


def test_misuse_is_refused(speaker):
    assistant = StreamingAssistant(speaker)
    with pytest.raises(InputError, match="no stream"):
        assistant.observe(frames(2, 0), [0.0, 0.5])
    assistant.start(REQUESTS[0], 5.0)
    with pytest.raises(InputError, match=r"4\.0 s after one"):
        assistant.observe(frames(2, 0), [4.0, 4.5])
    with pytest.raises(InputError, match="2 frames but 1 times"):
        assistant.observe(frames(2, 0), [5.0])


def test_untuned_base_is_an_assistant_like_any_other(model):
    speaker = UntunedSpeaker(model, RuntimeSettings(max_reply_tokens=4))
    speaker = replace_thresholds(speaker, 0.3)
    made = streams(model, 4)
    batched = messages_for_steps(speaker, made)
    for seed, (stream, messages) in enumerate(zip(made, batched, strict=True)):
        said = run_cached(speaker, stream, seed)[0]
        assert [(one.t_s, one.kind, one.text) for one in said] == [(one.t_s, one.kind, one.text) for one in messages.utterances]
    assert any(messages.utterances for messages in batched)


def replace_thresholds(speaker: UntunedSpeaker, value: float) -> UntunedSpeaker:
    speaker.thresholds = Thresholds(value, value)
    return speaker


def test_thresholds_come_from_validation_and_are_kept(speaker, samples, features, tmp_path):
    chosen, score = pick_thresholds(speaker, samples, features)
    assert score.streams == len(samples)
    write_thresholds(tmp_path, chosen, score)
    assert read_thresholds(tmp_path) == chosen


def test_picking_separates_what_can_be_separated(speaker, samples, features):
    """A head that is right, but at low probabilities, needs low thresholds."""
    streams, used = validation_streams(samples, features)
    probabilities = []
    for sample, stream in zip(used, streams, strict=True):
        due_s, kind, _ = sample.messages[0]
        near = [times[-1] >= min(due_s, stream.times_s[-1][-1]) for times in stream.times_s]
        probabilities.append(([0.3 if here else 0.01 for here in near], [0.9 if kind == "feedback" else 0.1] * len(near)))
    chosen, score = best_thresholds(speaker, streams, used, probabilities)
    assert score == FirstMessageScore(1.0, 1.0, 0.0, len(samples))
    assert max(chosen.feedback, chosen.success) < 0.3


def test_without_validation_there_are_no_thresholds(speaker, features):
    with pytest.raises(InputError, match="no validation sample"):
        pick_thresholds(speaker, [], features)
