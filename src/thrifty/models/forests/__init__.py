"""Forests in one flat structure: converters, costs, sessions, and tree outputs as features."""
