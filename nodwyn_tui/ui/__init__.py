"""The full-screen front, all of Textual; knows the link and the domain only."""
