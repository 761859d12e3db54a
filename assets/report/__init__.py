"""Group `report`: the HTML report of a source."""
