"""What the reproductions share: problems with held-out rows, curves of spend and score, and how claims are judged."""
