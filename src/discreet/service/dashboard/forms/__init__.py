"""Forms: what was typed, what is wrong with it, and the message that it means."""
