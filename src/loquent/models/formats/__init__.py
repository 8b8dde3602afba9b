"""The parts of `models.format`: the encoder, the base of all formats, and one file a format."""
