"""Paperwork in several layouts and languages, each with a schema and the values that a careful reader would give."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.documents.document import Box, Page, Word

Json = Any
WIDTH, HEIGHT = 0.01, 0.018  # of a character, of a line


@dataclass(frozen=True)
class Paper:
    """A document, what is wanted of it, and what that is."""

    pages: Sequence[Page]
    schema: Json
    truth: Json


def typeset(text: str, number: int = 1, *, engine: str = "native", confidence: float = 1.0) -> Page:
    """A page as a typewriter sets it: every word has its box where it stands in its line."""
    words, at = [], 0
    for row, line in enumerate(text.split("\n")):
        column = 0
        for part in line.split(" "):
            if part:
                box = Box(column * WIDTH, row * HEIGHT * 1.3, (column + len(part)) * WIDTH, row * HEIGHT * 1.3 + HEIGHT)
                words.append(Word(part, at + column, box, confidence))
            column += len(part) + 1
        at += len(line) + 1
    return Page(number, text, tuple(words), engine, None if engine == "native" else confidence)


def wanting(**properties: Json) -> Json:
    """A schema of an object with these properties; a text is its type."""
    return {"type": "object", "properties": {name: _schema(one) for name, one in properties.items()}}


def rows_of(**properties: Json) -> Json:
    """A schema of an array of such objects."""
    return {"type": "array", "items": wanting(**properties)}


def _schema(given: Json) -> Json:
    if isinstance(given, str):
        kind, _, description = given.partition(": ")
        return {"type": kind} | ({"description": description} if description else {})
    return given


INVOICE = Paper(
    [
        typeset("""# Northwind Chandlery Ltd

12 Quay Street
Bristol BS1 4RF

Invoice No: INV-20417
Invoice date: 14 March 2024
Due date: 13 April 2024
Customer: Harbour Pilots Association
VAT ID: GB123456789

| Item | Qty | Unit price | Amount |
| --- | --- | --- | --- |
| Rope 12 mm, 50 m | 4 | £38.50 | £154.00 |
| Brass shackle | 20 | £6.20 | £124.00 |
| Signal lamp | 1 | £212.00 | £212.00 |
| Total | | | £490.00 |

Subtotal: £490.00
VAT 20 %: £98.00
Total due: £588.00""")
    ],
    wanting(
        invoiceNumber="string",
        invoiceDate="string: issue date, YYYY-MM-DD",
        dueDate="string: YYYY-MM-DD",
        customerName="string",
        totalDue="number: total amount due including VAT",
        lines=rows_of(description="string", quantity="integer", unitPrice="number", amount="number"),
    ),
    {
        "invoiceNumber": "INV-20417",
        "invoiceDate": "2024-03-14",
        "dueDate": "2024-04-13",
        "customerName": "Harbour Pilots Association",
        "totalDue": 588,
        "lines": [
            {"description": "Rope 12 mm, 50 m", "quantity": 4, "unitPrice": 38.5, "amount": 154},
            {"description": "Brass shackle", "quantity": 20, "unitPrice": 6.2, "amount": 124},
            {"description": "Signal lamp", "quantity": 1, "unitPrice": 212, "amount": 212},
        ],
    },
)

RECHNUNG = Paper(
    [
        typeset("""Gärtnerei Lindenhof GmbH

RECHNUNG

Rechnungsnummer: 2024-0815
Rechnungsdatum: 03.05.2024
Fällig am: 17.05.2024
Kunde: Stadt Neuburg, Grünflächenamt
USt-IdNr.: DE123456789

| Pos. | Bezeichnung | Menge | Einzelpreis | Betrag |
| --- | --- | --- | --- | --- |
| 1 | Linde, Stammumfang 18 cm | 12 | 389,00 € | 4.668,00 € |
| 2 | Pflanzerde | 30 | 7,45 € | 223,50 € |

Gesamtbetrag: 5.821,19 €
Bezahlt: nein""")
    ],
    wanting(
        invoice_number="string",
        invoice_date="string: YYYY-MM-DD",
        due_date="string: YYYY-MM-DD",
        customer="string",
        total_amount="number",
        paid="boolean",
        items=rows_of(position="string", description="string", quantity="number", unit_price="number", amount="number"),
    ),
    {
        "invoice_number": "2024-0815",
        "invoice_date": "2024-05-03",
        "due_date": "2024-05-17",
        "customer": "Stadt Neuburg, Grünflächenamt",
        "total_amount": 5821.19,
        "items": [
            {
                "position": "1",
                "description": "Linde, Stammumfang 18 cm",
                "quantity": 12,
                "unit_price": 389,
                "amount": 4668,
            },
            {"position": "2", "description": "Pflanzerde", "quantity": 30, "unit_price": 7.45, "amount": 223.5},
        ],
    },
)

LIVRAISON = Paper(
    [
        typeset("""BON DE LIVRAISON N° BL-2041

DATE DE LIVRAISON
9 avril 2024

DESTINATAIRE
Atelier Moreau

TRANSPORTEUR
Rhône Fret

| Article | Quantité | Poids |
| --- | --- | --- |
| Chêne massif | 14 | 320,5 kg |
| Colle à bois | 6 | 12 kg |""")
    ],
    wanting(
        deliveryNoteNumber="string: number of the delivery note",
        deliveryDate={"type": "string", "format": "date"},
        recipient="string",
        carrier="string",
        articles=rows_of(article="string", quantity="integer", weight="number"),
    ),
    {
        "deliveryNoteNumber": "BL-2041",
        "deliveryDate": "2024-04-09",
        "recipient": "Atelier Moreau",
        "carrier": "Rhône Fret",
        "articles": [
            {"article": "Chêne massif", "quantity": 14, "weight": 320.5},
            {"article": "Colle à bois", "quantity": 6, "weight": 12},
        ],
    },
)

LEASE = Paper(
    [
        typeset("""LEASE AGREEMENT

This lease is dated as of January 15, 2023 by and between Seabright Estates, LLC, a Maine limited
liability company ("Landlord"), and Tidewater Books Inc. ("Tenant").

The monthly rent is $2,450.00. The lease begins on February 1, 2023.

GULL POINT BANK, N.A.,
as Escrow Agent""")
    ],
    wanting(
        agreementDate="string: date of the lease, YYYY-MM-DD",
        landlord="string",
        tenant="string",
        monthlyRent="number",
        escrowAgent="string",
    ),
    {
        "agreementDate": "2023-01-15",
        "landlord": "Seabright Estates, LLC",
        "tenant": "Tidewater Books Inc.",
        "monthlyRent": 2450,
        "escrowAgent": "GULL POINT BANK, N.A.",
    },
)

FORMULARIO = Paper(
    [
        typeset("""SOLICITUD DE ADMISION

Nombre:                       Fecha de nacimiento:
Lucía Ferrer Romero           12/07/1991

Ciudad: Valencia              Teléfono: 961 234 567

Numero de poliza: PZ-88213    Vigencia: 01/03/2024 - 28/02/2025""")
    ],
    wanting(
        name="string",
        birthDate="string: date of birth, YYYY-MM-DD",
        city="string",
        phone="string",
        policyNumber="string",
    ),
    {
        "name": "Lucía Ferrer Romero",
        "birthDate": "1991-07-12",
        "city": "Valencia",
        "phone": "961 234 567",
        "policyNumber": "PZ-88213",
    },
)

RECEIPT = Paper(
    [
        typeset(
            """THE COPPER KETTLE
31 Mill Lane
Norwich, NR 01234
Order Id: K7-3391

2 Flat White 7.20
1 Almond Croissant 3.10
1 Orange Juice 4.05

Sub Total 14.35
Tax 1.15
Total 15.50""",
            engine="tesseract",
            confidence=0.91,
        )
    ],
    wanting(
        orderId="string",
        subtotal="number",
        tax="number",
        total="number",
        items=rows_of(quantity="number", description="string", amount="number"),
    ),
    {
        "orderId": "K7-3391",
        "subtotal": 14.35,
        "tax": 1.15,
        "total": 15.5,
        "items": [
            {"quantity": 2, "description": "Flat White", "amount": 7.2},
            {"quantity": 1, "description": "Almond Croissant", "amount": 3.1},
            {"quantity": 1, "description": "Orange Juice", "amount": 4.05},
        ],
    },
)

ORDER_XML = Paper(
    [
        Page(
            1,
            """<?xml version="1.0" encoding="UTF-8"?>
<order xmlns="urn:orders"><header><number>PO-7781</number><created>2024-02-03T10:15:00Z</created>
<buyer><name>Müller &amp; Söhne</name><country>DE</country></buyer></header>
<positions>
<position sku="A-1"><title>Kabel</title><qty unit="m">120</qty><price currency="EUR">1.15</price></position>
<position sku="B-7"><title>Stecker</title><qty unit="pc">40</qty><price currency="EUR">0.89</price></position>
</positions></order>""",
        )
    ],
    wanting(
        orderNumber="string",
        createdOn="string: date on which the order was created, YYYY-MM-DD",
        buyerCountry="string",
        secondPosition="string: title of the position with sku B-7, that is its name",
        positions=rows_of(sku="string", title="string", quantity="number", unit="string", price="number"),
    ),
    {
        "orderNumber": "PO-7781",
        "createdOn": "2024-02-03",
        "buyerCountry": "DE",
        "positions": [
            {"sku": "A-1", "title": "Kabel", "quantity": 120, "unit": "m", "price": 1.15},
            {"sku": "B-7", "title": "Stecker", "quantity": 40, "unit": "pc", "price": 0.89},
        ],
    },
)

PATIENT_JSON = Paper(
    [
        Page(
            1,
            '{"patient": {"given_name": "Ana", "familyName": "Ruiz", "smoker": false, "height_cm": 171},\n'
            ' "visits": [{"date": "2024-01-09", "reason": "cough"}, {"date": "2024-03-02", "reason": "control"}],\n'
            ' "allergies": ["pollen", "nuts"]}',
        )
    ],
    wanting(
        patient=wanting(givenName="string", familyName="string", smoker="boolean", heightCm="number"),
        visits=rows_of(date={"type": "string", "format": "date"}, reason="string"),
        allergies={"type": "array", "items": {"type": "string"}},
    ),
    {
        "patient": {"givenName": "Ana", "familyName": "Ruiz", "smoker": False, "heightCm": 171},
        "visits": [{"date": "2024-01-09", "reason": "cough"}, {"date": "2024-03-02", "reason": "control"}],
        "allergies": ["pollen", "nuts"],
    },
)

MINUTES = Paper(
    [
        typeset("""# Minutes of the board

Chair: Ingrid Solheim
Place: Bergen

## Decisions

1. Buy a second ferry
2. Close the kiosk in winter

## Present

- Ingrid Solheim
- Per Aune
- Kari Vik""")
    ],
    wanting(
        chair="string",
        decisions=rows_of(decision="string"),
        present={"type": "array", "items": {"type": "string"}, "description": "people who were present"},
    ),
    {
        "chair": "Ingrid Solheim",
        "decisions": [{"decision": "Buy a second ferry"}, {"decision": "Close the kiosk in winter"}],
        "present": ["Ingrid Solheim", "Per Aune", "Kari Vik"],
    },
)

PAPERS = {
    "invoice": INVOICE,
    "rechnung": RECHNUNG,
    "livraison": LIVRAISON,
    "lease": LEASE,
    "formulario": FORMULARIO,
    "receipt": RECEIPT,
    "order-xml": ORDER_XML,
    "patient-json": PATIENT_JSON,
    "minutes": MINUTES,
}
