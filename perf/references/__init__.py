"""What our speed is measured against: each way of working in a file of its own, which names where it is
described.
"""
