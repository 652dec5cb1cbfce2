"""The admission process: wires serving, cluster and decision; holds no cloud SDK and no YAML."""
