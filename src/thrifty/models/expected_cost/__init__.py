"""Trees and cascades of linear classifiers under a relaxation of their expected cost."""
