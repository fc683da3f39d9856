"""Position encodings other than RoPE, one file per idea. Positions count from 0."""
