"""The server's frame: start, security headers, sign-in and static files."""
