"""The operator's console: pages in Gradio that know the product only through its HTTP API."""
