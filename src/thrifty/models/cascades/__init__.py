"""Cascades: trees in which every stage but the last has one exit."""
