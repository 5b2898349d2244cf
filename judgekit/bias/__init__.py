"""How judges are misled by what should not matter: position, length and form, and who wrote the response."""
