"""Google Cloud through google-auth: IAM, projects and buckets, in values of ours."""
