"""Commands about the service, on the machine of its database."""
