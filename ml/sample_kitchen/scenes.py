"""Which scene shows which kind of step."""

from ml.sample_kitchen.scene import Scene
from ml.sample_kitchen.scenes_counting import CountScene
from ml.sample_kitchen.scenes_handwork import BeatScene, CutScene, MixScene, TinScene, WashScene
from ml.sample_kitchen.scenes_stove import CookScene, KnobScene
from ml.sample_kitchen.world import Kind

SCENES: dict[Kind, type[Scene]] = {
    Kind.SCOOP: CountScene,
    Kind.PLACE: CountScene,
    Kind.BEAT: BeatScene,
    Kind.TIN: TinScene,
    Kind.WASH: WashScene,
    Kind.CUT: CutScene,
    Kind.MIX: MixScene,
    Kind.KNOB: KnobScene,
    Kind.COOK: CookScene,
}
