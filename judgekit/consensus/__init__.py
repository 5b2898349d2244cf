"""What several people and a judge say together: consensus, who may stand in for whom, and what to label next."""
