"""The command line, with a module for each command or group of commands."""
