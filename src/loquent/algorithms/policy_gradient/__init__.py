"""Policy gradient on language models: PPO, NLPO, A2C, TRPO, GRPO and RLOO."""
