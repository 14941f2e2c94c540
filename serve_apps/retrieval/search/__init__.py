"""The search pipeline: query, retrievers, fusion, reranking, expansion, diversification, packing."""
