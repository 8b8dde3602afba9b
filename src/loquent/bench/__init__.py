"""Benchmarks: suites of runs over seeds, compared with published figures."""
