"""AWS through boto3: buckets, distributions, IAM, in values of ours."""
