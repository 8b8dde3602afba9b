"""Where rows come from: readers, sources, the built-in corpus, pools and samplers."""
