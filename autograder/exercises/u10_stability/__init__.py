"""Specs of unit 10: sums of exponentials, bounded scores, weight decay, dropout, clipping and loss spikes."""
