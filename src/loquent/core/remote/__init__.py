"""Remote endpoints: requests with deadlines and retries, and answers that keep no secret."""
