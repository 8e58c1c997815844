"""The declared columns of each asset's table, as the UI shows them."""

import dagster as dg

from assets.checks import CHECKED
from ml.tables.catalogue import TABLES


def with_columns(spec: dg.AssetSpec) -> dg.AssetSpec:
    """The spec with the columns of the table that its asset writes; the spec itself where it writes none."""
    declared = TABLES.get(CHECKED.get(spec.key.to_user_string(), ""))
    if declared is None:
        return spec
    columns = [
        dg.TableColumn(
            column.name,
            str(column.dtype),
            column.doc + (f"; one of {', '.join(column.allowed)}" if column.allowed else ""),
            dg.TableColumnConstraints(nullable=column.nullable, unique=declared.key == (column.name,)),
        )
        for column in declared.columns
    ]
    return spec.merge_attributes(metadata={"dagster/column_schema": dg.TableSchema(columns)})
