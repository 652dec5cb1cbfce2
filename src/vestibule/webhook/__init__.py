"""The admission process: wiring, handler, policy reload. Loads no cloud SDK and no YAML."""
