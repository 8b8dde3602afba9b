"""Choice among candidate answers by their values."""
