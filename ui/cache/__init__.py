"""What readers share, held under one budget of bytes."""
