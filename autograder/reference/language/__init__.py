"""Parts of a language model besides its network: a tokenizer, and the n-gram that it has to beat."""
