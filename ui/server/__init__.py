"""The server around the pages: background import, security headers, sign-in and logo."""
