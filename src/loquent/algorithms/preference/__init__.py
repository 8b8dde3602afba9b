"""Learning from preferences between answers to one row: DPO and its losses, KTO and ORPO."""
