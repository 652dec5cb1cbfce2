"""SDK calls of Azure, AWS and Google Cloud, in values of ours. SDKs are imported where they are used."""
