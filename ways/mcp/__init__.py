"""Guidance on demand: an MCP server through which an agent looks ways up."""
