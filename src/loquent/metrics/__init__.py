"""Metrics, one family a file. A registered metric is a factory `make(context, **options)`; every metric can be a reward."""
