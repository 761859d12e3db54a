"""How pages look: charts as drawings, and styles."""
