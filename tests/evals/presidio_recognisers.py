"""Finds of presidio-analyzer's own recognisers, without a language model, to compare ours with.

Run by a Python that has presidio-analyzer: reads texts as a JSON list, writes the spans of each kind in each.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

KINDS = {
    "EMAIL_ADDRESS": "EmailRecognizer",
    "PHONE_NUMBER": "PhoneRecognizer",
    "IBAN_CODE": "IbanRecognizer",
    "CREDIT_CARD": "CreditCardRecognizer",
    "US_SSN": "UsSsnRecognizer",
    "IP_ADDRESS": "IpRecognizer",
    "US_DRIVER_LICENSE": "UsLicenseRecognizer",
}
LEAST = 0.05  # score; below it a find is one of a pattern that wants a word beside it


def find_spans(recognisers: Mapping[str, Any], text: str) -> dict[str, list[tuple[int, int]]]:
    """Spans of each kind."""
    return {
        kind: [(one.start, one.end) for one in recogniser.analyze(text, [kind], None) or () if one.score > LEAST]
        for kind, recogniser in recognisers.items()
    }


def main(texts: Sequence[str]) -> None:
    """Print what is found, as JSON."""
    from presidio_analyzer import predefined_recognizers

    recognisers = {kind: getattr(predefined_recognizers, name)() for kind, name in KINDS.items()}
    json.dump([find_spans(recognisers, text) for text in texts], sys.stdout)


if __name__ == "__main__":
    main(json.load(sys.stdin))
