"""Sixty ways to speak to the DOCUMENTS path, and the small workspace that they are said in."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["command", "question", "follow-up", "not held", "chit-chat"]

# File name to text; every value that is asked for stands in one sentence.
DOCUMENTS = {
    "pump-manual.md": "# Maintenance manual of the Corvane P7 pump\n\nThe oil of the pump is changed every 400 "
    "operating hours. "
    "The lid of the pump is tightened with a torque of 35 Nm.\n\nThe pump weighs 62 kilograms. It is painted green.",
    "lease.md": "# Lease of the workshop in Harbour Street\n\nThe lease ends on 31 May 2031. The monthly rent is "
    "4,150 euros. "
    "Notice of termination has to be given six months before the end.",
    "handbook.md": "# Employee handbook\n\nEvery employee has 28 days of vacation a year. Overtime is paid with a "
    "supplement of 25 "
    "percent.\n\nParental leave has to be announced seven weeks ahead.",
    "fire-safety.md": "# Fire safety policy\n\nFire drills take place every March and September. The assembly point "
    "is the car park "
    "behind hall 3.",
    "invoice-2291.md": "# Invoice 2291 of Miller Tools\n\nThe invoice covers twelve torque wrenches for 1,860 euros "
    "in all. It is "
    "payable within 14 days.",
    "network.md": "# Guide to the network\n\nVisitors use the wireless network Corvane-Guest. Its password is "
    "renewed every Monday. "
    "The printer on the second floor answers at 10.0.4.17.",
    "canteen.md": "# Canteen\n\nThe canteen opens at 11:30 and closes at 14:00. On Fridays the canteen serves fish.",
    "survey.md": "# Survey of hall 2\n\nAsbestos was found in the roof of hall 2. The asbestos was removed by the "
    "firm Ellmann in "
    "2019.",
    "minutes.md": "# Minutes of the board, 4 February\n\nThe board decided to buy a second crane. The crane costs "
    "212,000 euros. "
    "Ms Okafor was named lead of the project.",
    "spare-parts.md": "# Spare parts\n\nThe serial number of the gearbox is KX-4471. The filter has the part number "
    "FT-208.",
    "laerm.md": "# Richtlinie zum Lärmschutz\n\nAb 85 Dezibel ist Gehörschutz Pflicht. Die Messung des Lärms wird "
    "jedes Jahr "
    "wiederholt.",
    "wartung.md": "# Wartungsvertrag\n\nDie Kündigungsfrist des Wartungsvertrags beträgt drei Monate. Die Wartung "
    "kostet 980 Euro im "
    "Jahr.",
}


@dataclass(frozen=True, slots=True)
class Phrasing:
    """A message.

    Attributes:
        value: what the documents say to it, as it is written in them; empty where they say nothing.
        file: where it stands.
        before: what was said before, the user first.
    """

    kind: Kind
    message: str
    value: str = ""
    file: str = ""
    before: tuple[str, ...] = ()


_PUMP = ("How much does the Corvane P7 pump weigh?", "It weighs 62 kilograms.")
_LEASE = ("Tell me about the lease of the workshop.", "It is the lease of Harbour Street.")
_CRANE = ("What did the board decide about the crane?", "To buy a second crane.")

PHRASINGS = (
    Phrasing("command", "Search the documents for the torque of the lid", "35 Nm", "pump-manual.md"),
    Phrasing("command", "search our files: when does the lease end", "31 May 2031", "lease.md"),
    Phrasing("command", "Please search the docs and tell me how many vacation days I have", "28 days", "handbook.md"),
    Phrasing("command", "find file about fire drills", "March and September", "fire-safety.md"),
    Phrasing("command", "Find the file that says who removed the asbestos", "Ellmann", "survey.md"),
    Phrasing("command", "find me the document with the serial number of the gearbox", "KX-4471", "spare-parts.md"),
    Phrasing("command", "List all documents that mention the part number of the filter", "FT-208", "spare-parts.md"),
    Phrasing("command", "list documents about parental leave", "seven weeks", "handbook.md"),
    Phrasing("command", "Summarize what the documents say about overtime", "25 percent", "handbook.md"),
    Phrasing(
        "command",
        "Give me a short summary of what the documents say about the assembly point",
        "hall 3",
        "fire-safety.md",
    ),
    Phrasing("command", "Look up the opening hours of the canteen in the documents", "11:30", "canteen.md"),
    Phrasing(
        "command", "Could you look in our pdfs for the price of the torque wrenches?", "1,860 euros", "invoice-2291.md"
    ),
    Phrasing("command", "Locate the contract that tells the monthly rent", "4,150 euros", "lease.md"),
    Phrasing("command", "/search wireless network for visitors", "Corvane-Guest", "network.md"),
    Phrasing("command", "/docs oil change of the pump, and quote the page", "400 operating hours", "pump-manual.md"),
    Phrasing("command", "/docs find out what the crane costs", "212,000 euros", "minutes.md"),
    Phrasing("command", "Open the manual and show me how heavy the pump is", "62 kilograms", "pump-manual.md"),
    Phrasing("command", "Retrieve the report on the asbestos in hall 2, please", "hall 2", "survey.md"),
    Phrasing("command", "I need the document about the printer on the second floor", "10.0.4.17", "network.md"),
    Phrasing(
        "command",
        "/docs Durchsuche die Dokumente nach der Kündigungsfrist des Wartungsvertrags",
        "drei Monate",
        "wartung.md",
    ),
    Phrasing(
        "command",
        "/docs Bitte suche in den Unterlagen, ab wie viel Dezibel Gehörschutz Pflicht ist",
        "85 Dezibel",
        "laerm.md",
    ),
    Phrasing("command", "/docs Liste alle Dokumente zur Messung des Lärms auf", "jedes Jahr", "laerm.md"),
    Phrasing("command", "/docs Fasse zusammen, was die Wartung kostet", "980 Euro", "wartung.md"),
    Phrasing(
        "question",
        "According to our manual, how often is the oil of the pump changed?",
        "400 operating hours",
        "pump-manual.md",
    ),
    Phrasing("question", "According to the lease document, how much is the monthly rent?", "4,150 euros", "lease.md"),
    Phrasing("question", "What do the documents say about notice of termination?", "six months", "lease.md"),
    Phrasing("question", "Which document says when fire drills take place?", "March and September", "fire-safety.md"),
    Phrasing("question", "In which file is the assembly point named?", "hall 3", "fire-safety.md"),
    Phrasing("question", "Does the document say who leads the crane project?", "Ms Okafor", "minutes.md"),
    Phrasing("question", "Is there a document on how overtime is paid?", "25 percent", "handbook.md"),
    Phrasing(
        "question", "What does the PDF say about the password of the guest network?", "every Monday", "network.md"
    ),
    Phrasing("question", "Do we have any documents on what the canteen serves on Fridays?", "fish", "canteen.md"),
    Phrasing(
        "question",
        "within how many days is the invoice document of Miller Tools payable?",
        "14 days",
        "invoice-2291.md",
    ),
    Phrasing("question", "Hey, can you search for the colour that the pump is painted in?", "green", "pump-manual.md"),
    Phrasing("question", "/docs Laut unserem Vertrag, wie lang ist die Kündigungsfrist?", "drei Monate", "wartung.md"),
    Phrasing("question", "/docs Was steht in der Richtlinie über Gehörschutz?", "85 Dezibel", "laerm.md"),
    Phrasing("follow-up", "And what does the document say about its colour?", "green", "pump-manual.md", _PUMP),
    Phrasing("follow-up", "And the torque of its lid, according to the document?", "35 Nm", "pump-manual.md", _PUMP),
    Phrasing("follow-up", "What does that document say about the monthly rent?", "4,150 euros", "lease.md", _LEASE),
    Phrasing("follow-up", "And when does it end, according to the document?", "31 May 2031", "lease.md", _LEASE),
    Phrasing("follow-up", "Which document says what it costs?", "212,000 euros", "minutes.md", _CRANE),
    Phrasing("follow-up", "/docs and who leads that project?", "Ms Okafor", "minutes.md", _CRANE),
    Phrasing("follow-up", "Can you search for more about it?", before=_CRANE),
    Phrasing("follow-up", "Summarize that document in one sentence", before=_LEASE),
    Phrasing("not held", "Search the documents for the recipe of the house sauce"),
    Phrasing("not held", "What do our documents say about the war in Troy?"),
    Phrasing("not held", "find file tax-return-1987.pdf"),
    Phrasing("not held", "Search for the phone number of the mayor of Lisbon"),
    Phrasing("not held", "/search zzyzx"),
    Phrasing("not held", "/docs Suche in den Unterlagen nach dem Rezept für Apfelkuchen"),
    Phrasing("chit-chat", "I love documents"),
    Phrasing("chit-chat", "Thanks for searching the documents!"),
    Phrasing("chit-chat", "Can you search?"),
    Phrasing("chit-chat", "That search was great, well done"),
    Phrasing("chit-chat", "What is OCR?"),
    Phrasing("chit-chat", "How do I save a document as PDF?"),
    Phrasing("chit-chat", "list the documents"),
    Phrasing("chit-chat", "Tell me a joke about a PDF"),
    Phrasing("chit-chat", "/docs"),
    Phrasing("chit-chat", "Summarize the documents"),
)
