"""The version."""

__version__ = "0.1.0"
OWN_DISTRIBUTION = "robust-qa"
