"""Learners of QA-DQN's network: deep Q-learning, and policy gradients."""
