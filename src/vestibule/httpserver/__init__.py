"""HTTP/1.1 and TLS server for admission reviews: parser, limits, certificate reload, health."""
