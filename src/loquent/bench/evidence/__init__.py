"""What tables may claim: rows, verdicts, visible differences, and the seeds that a difference takes."""
