"""Policies that decide for each row which features to acquire next and when to stop, and static baselines."""
