"""The structure that trees and cascades of linear nodes share: tree, session and estimator base."""
