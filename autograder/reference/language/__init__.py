"""What a language model needs beside its network: a tokenizer, and the n-gram that it has to beat."""
