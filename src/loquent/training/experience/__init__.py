"""Where the experience of a run comes from: played tokens, played turns, recorded episodes, live episodes."""
