"""Values of a model shown to people: readings, rankings, advantages."""
