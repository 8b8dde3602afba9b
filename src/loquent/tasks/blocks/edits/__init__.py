"""The action sets: edits of towers, of cells of the grid, and of pixels."""
