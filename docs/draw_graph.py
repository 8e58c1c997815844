"""Draw docs/images/graph.png from the definitions: `python docs/draw_graph.py` (needs Graphviz's `dot`)."""

import subprocess
from pathlib import Path

from dagster_project.definitions import defs

COLOURS = {
    "sources": "#e8f0fe",
    "recordings": "#e6f4ea",
    "narrations": "#fef7e0",
    "counterfactuals": "#fce8e6",
    "training": "#f3e8fd",
    "benchmarks": "#e0f7fa",
}


def dot_source() -> str:
    """The asset graph in Graphviz's language, one cluster a group; edges that a longer way implies are left out by ``tred``."""
    graph = defs.resolve_asset_graph()
    lines = [
        "digraph interject {",
        'rankdir=LR; nodesep=0.12; ranksep=0.35; fontname="Helvetica"; bgcolor=white;',
        'node [shape=box style="rounded,filled" fillcolor=white fontname="Helvetica" fontsize=11 height=0.32 color="#5f6368"];',
        'edge [color="#9aa0a6" arrowsize=0.6];',
    ]
    groups: dict[str, list[str]] = {}
    for key in graph.get_all_asset_keys():
        groups.setdefault(graph.get(key).group_name, []).append(key.to_user_string())
    for group, names in groups.items():
        members = " ".join(f'"{name}";' for name in sorted(names))
        colour = COLOURS.get(group, "#f1f3f4")
        lines.append(f'subgraph "cluster_{group}" {{ label="{group}"; style="rounded,filled"; color="{colour}"; {members} }}')
    for key in graph.get_all_asset_keys():
        lines += [f'"{parent.to_user_string()}" -> "{key.to_user_string()}";' for parent in graph.get(key).parent_keys]
    return "\n".join([*lines, "}"])


def main() -> None:
    reduced = subprocess.run(["tred"], input=dot_source(), capture_output=True, text=True, check=True).stdout
    target = Path(__file__).parent / "images" / "graph.png"
    subprocess.run(["dot", "-Tpng", "-Gdpi=110", "-o", str(target)], input=reduced, text=True, check=True)
    print(target)


if __name__ == "__main__":
    main()
