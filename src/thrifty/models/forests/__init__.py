"""Forests as flat arrays: readers for other libraries, costs, sessions, and tree outputs as features."""
