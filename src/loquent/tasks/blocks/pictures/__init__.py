"""Pictures of boards: sprites, tiles of boxes, PNG files and colours in a terminal."""
