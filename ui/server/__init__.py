"""Web server of the pages: background import, security headers, sign-in and logo."""
