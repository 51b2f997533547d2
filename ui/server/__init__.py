"""The server's frame: background import, security headers, sign-in and the mark of the dashboard."""
