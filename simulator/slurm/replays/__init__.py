"""What the loop of a replay needs beside the state, in files of its own."""
