"""Skills that ask a served model: text-embeddings-inference, text-generation-inference, HF Inference."""
