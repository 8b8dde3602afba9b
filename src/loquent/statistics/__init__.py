"""Numbers with their spread: intervals, resampling, tables."""
