"""What a schedule is worth."""
