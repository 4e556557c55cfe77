"""Policies that choose, row by row, what to acquire next and when to stop."""
