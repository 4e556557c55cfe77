"""Boosted trees: the Greedy Miser, early exit in ranking, and AdaBoost with sampled trees."""
