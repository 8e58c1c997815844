"""Small benchmark and prediction files of the three families, as users bring them."""

import json

import polars as pl

FEEDBACK = {"technique": "Cut smaller cubes.", "measurement": "That were three cups, only two were asked for.", "timing": "Stop stirring."}


def write_json(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def ego_files(folder, recordings=6):
    """(benchmark, good, weak): good says every feedback 1 s late and every success in time, weak alerts once in every step."""
    rows, good, weak = [], [], []
    kinds = list(FEEDBACK)
    for video in range(recordings):
        texts, times, types = [], [], []
        said = {"good": ([], []), "weak": ([], [])}
        for step in range(3):
            start, kind = 40.0 * step, kinds[(video + step) % 3]
            for message in (
                (f"step {step} of {video}", start, "instruction"),
                *([(FEEDBACK[kind], start + 20, f"feedback_action_aligned_mistake_{kind}_error")] if step != 1 else []),
                ("Good job!", start + 40, "feedback_action_aligned_success"),
            ):
                texts.append(message[0])
                times.append(message[1])
                types.append(message[2])
            for name in said:
                said[name][0].append(f"Instruction: step {step} of {video}")
                said[name][1].append(start)
            if step != 1:
                said["good"][0].append(f"Feedback: {FEEDBACK[kind]}")
                said["good"][1].append(start + 21)
            said["weak"][0].append("Feedback: <b>Careful</b>.")
            said["weak"][1].append(start + 8)
            said["good"][0].append("Success: Good job!")
            said["good"][1].append(start + 39)
        texts.append("You have finished.")
        times.append(120.0)
        types.append("feedback_finish_all")
        rows.append({"video_id": f"1_{video}", "output_texts": texts, "output_timestamps": times, "output_types": types})
        for name, items in (("good", good), ("weak", weak)):
            items.append({"video_id": f"1_{video}", "pred_texts": said[name][0], "pred_timestamps": said[name][1]})
    pl.DataFrame(rows).write_parquet(folder / "timeline.parquet")
    return folder / "timeline.parquet", write_json(folder / "good.json", good), write_json(folder / "weak.json", weak)


def guideme_files(folder, videos=4):
    """(benchmark, good, weak): good repeats each reference but for the last, weak says one thing at every fifth second."""
    items, good, weak = [], [], []
    for video in range(videos):
        answers = {12: ("Take the mug.", "instruction"), 30: ("You took the wrong spoon.", "error"), 41: ("Put it back.", "correction")}
        talk = [{"from": "assistant", "value": text, "timestamp": t, "category": kind} for t, (text, kind) in answers.items()]
        user = {"from": "user", "value": "Help me", "timestamp": 0}
        items.append({"video_id": f"v{video}", "videos": [f"v{video}.mp4"], "conversations": [user, *talk]})
        for second in range(52):
            reference = answers.get(second, ("Silent", None))
            row = {"video_id": f"v{video}", "endpoint_timestamp": second, "answer": reference[0]}
            good.append({**row, "prediction": None if second == 50 else reference[0] if second != 41 else "Silent"})
            weak.append({**row, "prediction": "Careful." if second % 5 == 0 else "Silent"})
    files = {"annotation.json": items, "good.json": good, "weak.json": weak}
    return tuple(write_json(folder / name, value) for name, value in files.items())


def cook_files(folder, clips=10):
    """(benchmark, good, weak): good finds and explains all but one deviation, weak always says yes."""
    samples, good, weak = [], [], []
    seen = "slice the onion with a knife on the board"
    changes = {"verb": ("slice", "dice"), "ingredient": ("onion", "carrot"), "tool": ("knife", "peeler"), "location": ("board", "bowl")}
    for number in range(clips * 2):
        element = [*changes, None][number % 5]
        asked = seen.replace(*changes[element]) if element else seen
        level = "hard" if number % 2 else "easy"
        samples.append(
            {
                "sample_id": f"s{number}",
                "video": f"v{number // 2}.mp4",
                "start_time": 0,
                "end_time": 20,
                "instruction": asked,
                "class": "mistake" if element else "correct",
                "element": element,
                "original_description": seen,
                "difficulty": level if element in ("verb", "ingredient") else None,
            }
        )
        is_found = element is not None and number != 6
        text = f"No. I see {changes[element][0]}, not {changes[element][1]}: the {element} differs." if is_found else f"Yes, {asked}."
        good.append({"sample_id": f"s{number}", "answer": None if number == 9 else text})
        weak.append({"sample_id": f"s{number}", "answer": f"Yes, {asked}."})
    benchmark = write_json(folder / "clips.json", samples)
    paths = []
    for name, rows in (("good.jsonl", good), ("weak.jsonl", weak)):
        (folder / name).write_text("\n".join(json.dumps(row) for row in rows))
        paths.append(folder / name)
    return benchmark, *paths
