"""Scripts that record the measurements under ``assets/experiments``; each says on which device it ran."""
