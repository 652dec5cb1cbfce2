"""The process that issues the certificate of the webhook, where no operator does."""
