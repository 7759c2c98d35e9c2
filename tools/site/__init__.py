"""The site of the documentation: `make docs` stages all pages, generates the reference, and has Sphinx build them."""
