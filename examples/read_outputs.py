"""Reading the outputs of a finished `make demo` without Dagster: run `python examples/read_outputs.py`."""

import polars as pl

from ml.benchmarks.leaderboard import wide
from ml.tables.names import open_table, search_texts

pl.Config.set_tbl_rows(20)
pl.Config.set_fmt_str_lengths(60)
pl.Config.set_tbl_hide_column_data_types(True)

print("EGO-CoMist pairs by type and direction")
print(open_table("ego_comist").group_by("mistake_type", "direction").len("pairs").sort("mistake_type", "direction").collect())

print("What was rejected, and why")
print(open_table("comist_rejections").group_by("rejection").len("pairs").sort("rejection").collect())

print("Instructions nearest to a text, from LanceDB")
print(search_texts("add two scoops of flour", k=5))

print("Leaderboard of the first protocol, then what the paper published")
board = open_table("leaderboard").collect()
steps = wide(board, "kitchen_steps.per_step.true_end")
print(steps.select("place", "experiment", "mistake_f1_3s", "ic_acc_3s", "mistake_f1", "ic_acc", "n"))
print(wide(board, "ego_mc_bench.per_step", origin="published").select("place", "experiment", "source", "mistake_f1", "ic_acc").head(5))
