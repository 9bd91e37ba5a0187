"""Who may see what: blindness, original pixels, pictures with personal data."""
