"""The pictures of each study as plain data; `discreet.lab.figures` draws them."""
