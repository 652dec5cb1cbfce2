"""Cloud identity: annotations to claims (dialects), claims to plans (providers), plans to patch
fragments (render)."""
