"""Stopping a sum of terms when its outcome is evident (Pelossof and Ying), and the baseline that always stops."""
