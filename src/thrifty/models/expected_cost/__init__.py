"""Trees and cascades of linear classifiers that minimise expected loss plus relaxed expected cost."""
