"""What is known of earlier jobs when one is submitted: histories, and jobs that are alike."""
