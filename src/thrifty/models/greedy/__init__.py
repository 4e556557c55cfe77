"""Models that select features greedily and fit least squares: ASTC and the cost-weighted l1 model."""
