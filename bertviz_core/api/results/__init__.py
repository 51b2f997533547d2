"""What the methods of an opened model hand out, a file for each kind of question."""
