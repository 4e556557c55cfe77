"""Model files: saving and loading fitted models without pickle, and their manifests."""

from thrifty.persistence.manifest import Manifest
from thrifty.persistence.model_file import load, load_with_manifest, read_manifest, save

__all__ = ["Manifest", "load", "load_with_manifest", "read_manifest", "save"]
