"""Studies of people's judgements: ratings and pairs, their statistics as a page, and blinded sheets."""
