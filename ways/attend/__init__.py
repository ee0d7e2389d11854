"""Messages between the agents and the people of one account on one machine."""
