"""Reports on a model's values: readings, rankings, advantages."""
