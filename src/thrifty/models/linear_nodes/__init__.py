"""The fitted structure that ASTC, CSTC, CSCC and Cronus share: a tree of linear nodes, its session, its estimator."""
