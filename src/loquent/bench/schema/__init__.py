"""What a suite may say: its settings, its sets of episodes, and published figures."""
