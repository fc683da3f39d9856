"""Specs of unit 08: what decoding stores, how heads share it, what it costs, and how it is kept small."""

from . import costs, cross, heads, memory, stores

UNIT = "08-kv-cache-and-gqa"
EXERCISES = [
    *stores.EXERCISES,
    *cross.EXERCISES,
    *heads.EXERCISES[:2],
    *costs.EXERCISES,
    *heads.EXERCISES[2:],
    *memory.EXERCISES,
]
