"""The model of the session: chosen in the sidebar, and downloaded where its files are missing."""
