"""Comments: reply to a post; the reward judges toxicity or upvotes."""
