"""The pages of `marts/report`, the HTML report of a source."""
