"""The pictures of each study as plain data; `discreet._pictures` draws them."""
