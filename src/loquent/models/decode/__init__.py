"""Decoding: our engine, its loop, sampling, beams, and the transfer of weights to engines."""
