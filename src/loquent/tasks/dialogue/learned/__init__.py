"""An answerer and a guesser of images that are trained on recorded dialogues."""
