"""What the commands of `vestibule azure`, `aws` and `gcp` share: flags, how results look, the key pair."""
