"""All declared tables by name."""

from ml.tables.declarations import benchmarks, counterfactuals, pairs, recordings, results, sources, training
from ml.tables.schema import Table

_FAMILIES = (sources, recordings, counterfactuals, pairs, training, benchmarks, results)

TABLES: dict[str, Table] = {value.name: value for family in _FAMILIES for value in vars(family).values() if isinstance(value, Table)}
