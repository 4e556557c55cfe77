"""Classifiers that stop the evaluation of a sum of terms, for each row or after the same number of terms."""
