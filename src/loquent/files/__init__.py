"""Files written safely: manifests, the files of a run, saved state, trackers."""
