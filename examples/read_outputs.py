"""Reading the outputs of a finished `make demo` without Dagster: run `python examples/read_outputs.py`."""

import polars as pl

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

print("Leaderboard of the first protocol")
columns = ("experiment", "mistake_f1_3s", "ic_acc_3s", "mistake_f1", "ic_acc", "n_steps")
print(open_table("leaderboard").filter(pl.col("protocol") == "kitchen_steps.per_step").select(columns).collect())
