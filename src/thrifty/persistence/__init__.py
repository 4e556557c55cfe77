"""Safe model files: save, load and the manifest between them."""

from thrifty.persistence.manifest import Manifest
from thrifty.persistence.model_file import load, read_manifest, save

__all__ = ["Manifest", "load", "read_manifest", "save"]
