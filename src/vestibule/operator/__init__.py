"""The operator process: controllers, work queue, apply, status, leader election, certificates."""
