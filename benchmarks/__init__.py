"""Benchmarks of speed and quality.

Most figures are ratios to another implementation that is measured in the same run, because absolute times depend on the
machine and on its load.
"""
