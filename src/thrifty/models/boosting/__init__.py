"""Forests: one flat structure for everybody's trees, and their outputs as features."""
