"""What a submission's source says, read without running it: what it calls, defines and hides."""
