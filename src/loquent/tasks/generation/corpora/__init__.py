"""Datasets of text generation: the files of each as prompts, references and other fields."""
