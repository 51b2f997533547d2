"""The version of Inside BERT, for the package's build and for what is written into files and reports."""

__version__ = "1.1.0"
