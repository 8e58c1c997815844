"""Prompts of the assistants that ask a general model. Texts only: filling, sending and reading stand with the assistants."""

from hashlib import sha256

COMPLETION = """You watch a person who cooks. The pictures are in time order; the last one is from now.
Seconds since the person was asked, picture by picture: $times
The person was asked to do this: $instruction
Look only at what the pictures show. First think of what a finished result looks like and whether it can be seen.
Is this step finished now? Begin your answer with the word YES or the word NO, then give the reason in one sentence."""

MISTAKE_SIMPLE = """You watch a person who cooks. The pictures are in time order; the last one is from now.
Seconds since the person was asked, picture by picture: $times
The person was asked to do this: $instruction
The step is not finished, and work that is still to come is no mistake.
Already said in the last minute, do not say it again:
$recent

Has the person done something, or begun to do something, that goes against the instruction and keeps the step from coming out right?
Begin your answer with the word YES or the word NO. After YES, tell the person in one short sentence what is wrong: "YES. <sentence>"."""

MISTAKE_DETAILED = """You watch a person who cooks. The pictures are in time order; the last one is from now.
Seconds since the person was asked, picture by picture: $times
The person was asked to do this: $instruction
The step is not finished, and work that is still to come is no mistake. Only what goes against the instruction and keeps the step from
coming out right counts; extra care, such as rinsing something first, does not.

What a mistake may look like:
- measurement: another amount, count or unit than asked for; a teaspoon in place of a tablespoon; stopping too early or adding too much.
- preparation: another tool, vessel or ingredient, or an ingredient that was not made ready as asked (not peeled, not drained, not washed).
- technique: the hands do another action than the one named, such as stirring for folding or slicing for dicing; pieces of the wrong size.
- temperature: the heat is set higher or lower than asked, something is not preheated, or it is cold where it should be warm.
- timing: it goes on clearly longer than asked, or is ended too soon.
A loose grip or an untidy bench is none of these.

Already said in the last minute, do not say it again:
$recent

Has the person made a mistake that was not mentioned yet, or is about to make one?
Begin your answer with the word YES or the word NO. After YES, tell the person in one short sentence what is wrong: "YES. <sentence>"."""

NARRATED_COMPLETION = """Another system describes a video of a person who cooks. Its notes, oldest first:
$narrations

The person was asked to do this: $instruction
Going by the notes alone, is this step finished? Begin your answer with the word YES or the word NO."""

NARRATED_MISTAKE = """Another system describes a video of a person who cooks. Its notes, oldest first:
$narrations

The person was asked to do this: $instruction
The step is not finished, and work that is still to come is no mistake.
Going by the notes alone, has the person done something that goes against the instruction and keeps the step from coming out right?
Begin your answer with the word YES or the word NO. After YES, tell the person in one short sentence what is wrong: "YES. <sentence>"."""

PER_SECOND = """You coach a person through a task while you watch. The pictures show the last $window_s seconds, oldest
first; the last one is from now, second $now_s of the video. Seconds of the video, picture by picture: $times
$knowledge
The talk so far, each turn with its second:
$dialogue

Most of the time there is nothing to say. Speak when the person needs the next step, has just finished what you asked for, or has made an
error: then say what is wrong and what to do instead. Give one step at a time, and do not repeat what you said shortly before.
If there is nothing to say now, answer with the single word Silent. Otherwise answer with what you say to the person, in one or two
sentences and nothing else."""

SINGLE_CLIP = """The $frames pictures are taken evenly from one short clip, in time order, at these seconds of it: $times
The cook was asked to do this: $instruction
Compare the action, the ingredient, the tool and the place of the work with the instruction.
Does the cook do what was asked? Say yes or no, then what you really see the cook do, then why you decided so."""

SINGLE_CLIP_HINTED = """The $frames pictures are taken evenly from one short clip, in time order, at these seconds of it: $times
The cook was asked to do this: $instruction
Look at one thing only: the $element. Does the $element agree with the instruction?
Say yes or no, then which $element you really see, then why you decided so."""


def prompts_hash() -> str:
    """Changes when any wording here does."""
    texts = (
        COMPLETION,
        MISTAKE_SIMPLE,
        MISTAKE_DETAILED,
        NARRATED_COMPLETION,
        NARRATED_MISTAKE,
        PER_SECOND,
        SINGLE_CLIP,
        SINGLE_CLIP_HINTED,
    )
    return sha256("\x1f".join(texts).encode()).hexdigest()[:12]
