"""What pictures show, in data units, and how they are drawn as SVG; `sfumato.plots` draws the same descriptions with matplotlib."""
