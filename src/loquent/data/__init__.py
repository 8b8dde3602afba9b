"""Where rows come from: sources, readers, built-in corpora and pools; episodes on disk."""
