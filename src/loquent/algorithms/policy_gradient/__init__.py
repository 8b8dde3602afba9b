"""Policy gradient on language models: PPO and NLPO."""
