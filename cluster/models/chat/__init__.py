"""Chat models: OpenAI's and Anthropic's dialects, streamed replies, retries, structured output."""
