"""From a ballot to a tally: filters, rejection and votes, composed into methods."""
