"""Pages that Sfumato writes, looked at in a real browser."""
