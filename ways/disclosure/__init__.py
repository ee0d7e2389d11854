"""What is shown, when, and to whom (spec: disclosure)."""
