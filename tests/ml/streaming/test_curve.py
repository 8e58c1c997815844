from io import BytesIO

from PIL import Image

from ml.streaming.curve import loss_curve_png


def picture(rows) -> Image.Image:
    return Image.open(BytesIO(loss_curve_png(rows)))


def test_every_loss_is_drawn_and_nothing_else():
    rows = [{"step": step, "metric": "loss", "value": 1 / step} for step in range(1, 20)]
    one = picture(rows)
    assert one.format == "PNG"
    assert one.size[0] > 500
    more = picture([*rows, *({**row, "metric": "speak_loss", "value": 0.5} for row in rows)])
    other = picture([*rows, {"step": 3, "metric": "f1", "value": 0.2}])
    assert more.tobytes() != one.tobytes()
    assert other.tobytes() == one.tobytes()


def test_an_empty_log_still_gives_a_picture():
    assert picture([]).size == picture([{"step": 1, "metric": "loss", "value": 1.0}]).size
