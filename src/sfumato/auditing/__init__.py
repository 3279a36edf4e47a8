"""Attacks on plans: made-up neighbouring data sets, a test that tells their releases apart, and what its errors prove.

An audit cannot prove a promise; it can refute one. It reports a lower confidence bound on what a plan gives away, beside the
claim, and how large a fault it would have seen.
"""
