"""Supply chain: locked hashes, bill of materials, licences, known vulnerabilities and the air-gapped bundle."""
