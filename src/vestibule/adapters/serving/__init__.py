"""HTTPS for admission reviews: engine, limits, certificates, health."""
