"""Lists of texts: uploads, progress of long work, and downloads."""
