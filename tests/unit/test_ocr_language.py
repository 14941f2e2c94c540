"""A scan in a language that OCR was not run with says so; one that was read rightly, a table or a drawing does not."""

import pytest

from pipelines.documents.document import CaveatKind
from pipelines.documents.ocr.missing_language import missing_language, missing_script, needs_script

# As English data reads them: letters that it does not know have become others.
READ_AS_ENGLISH = {
    "deu": "Die Prifung der Anlage wurde am 3. Mai durchgefiihrt und ist ohne Mangel. Fur die Wartung ist der Betreiber"
    " zustandig, wenn nichts anderes vereinbart wurde.",
    "fra": "Les travaux ont ete realises par la societe dans les delais prevus. Le client doit payer le solde avant la"
    " fin du mois, sans quoi des interets seront dus.",
    "spa": "El contrato entra en vigor el dia de la firma y tiene una duracion de dos anos. Las partes pueden"
    " rescindirlo con un aviso previo por escrito.",
    "ita": "Il contratto e valido per due anni dalla data della firma. Le parti possono recedere con un preavviso"
    " scritto, come previsto nella clausola che segue.",
    "por": "O contrato tem a duracao de dois anos e nao pode ser renovado sem acordo. As partes devem avisar por"
    " escrito quando uma delas quiser sair.",
    "nld": "De overeenkomst is geldig voor twee jaar en wordt niet verlengd. Het bedrag moet door de klant voor het"
    " einde van de maand worden betaald.",
    "pol": "Umowa jest wazna przez dwa lata i nie moze byc przedluzona. Kwota powinna byc zaplacona przez klienta do"
    " konca miesiaca oraz potwierdzona.",
    "ces": "Smlouva je platna dva roky a muze byt prodlouzena pouze pisemne. Castka musi byt zaplacena do konce mesice"
    " a podle ceniku, jako byla drive.",
    "swe": "Avtalet galler i tva ar och kan inte forlangas. Beloppet ska betalas av kunden fore manadens slut, och det"
    " som inte har betalats ska krävas in.",
    "dan": "Aftalen gaelder i to ar og kan ikke forlaenges. Belobet skal betales af kunden inden manedens udgang, og"
    " det som ikke er betalt skal inddrives.",
    "fin": "Sopimus on voimassa kaksi vuotta, eika sita voi jatkaa. Asiakas maksaa sen ennen vuoden loppua, ellei muuta"
    " ole sovittu, ja myos kulut on maksettava.",
    "tur": "Sozlesme iki yil icin gecerlidir ve bu sure uzatilamaz. Tutar ay sonuna kadar odenir, ancak bir gecikme"
    " olarak sayilan hal icin faiz yoktur.",
    "hun": "A szerzodes ket evig ervenyes, es nem hosszabbithato meg. Az osszeget az ugyfel fizeti, ha ez nem tortenik"
    " meg, akkor kamat jar, mert az kell.",
    "ron": "Contractul este valabil doi ani si nu poate fi prelungit. Suma trebuie platita de client pana la sfarsitul"
    " lunii, iar dobanda este cea din lege.",
}
HARMLESS = (
    "The contract is valid for two years and cannot be renewed. The sum is to be paid by the client before the end of"
    " the month, as was agreed.",
    "Total 12.50 GST 0.75 Cash 20.00 Change 6.75 THANK YOU PLEASE COME AGAIN TEL 03-4471",
    "Pos Qty Price Total 1 12 4.50 54.00 2 3 19.99 59.97 Sum 113.97",
    "DN50 PN16 V-101 HX-22 TIC 104 SCALE 1:50 REV C",
    "Jean de la Fontaine, Rue des Alpes 4, and Ludwig van der Berg came to dine with the ambassador on Sunday; the"
    " menu had pain au chocolat and a carte des vins.",
    "Die casting and den construction: the man hat sold in a site sale, per lot, due date 3 May.",
    "",
)


@pytest.mark.parametrize("language", READ_AS_ENGLISH)
def test_small_words_of_another_language_are_noticed(language: str) -> None:
    found = missing_language(READ_AS_ENGLISH[language], ["eng"])
    assert found is not None and found.kind is CaveatKind.LANGUAGE_MISSING
    assert f"tesseract-ocr-{language}" in found.detail and "read as eng" in found.detail
    assert missing_language(READ_AS_ENGLISH[language], ["eng", language]) is None


@pytest.mark.parametrize(
    "text",
    [
        "Der Bericht liegt im Biiro und wird nicht verschickt.",
        "La llave de la caldera esta en el armario azul del sotano.",
        "Kluez do kotlowni wisi obok drzwi na parterze budynku.",
        "Avaimet loytyvat eteisen kaapista ylahyllylta oven vieresta.",
    ],
)
def test_one_short_line_is_enough(text: str) -> None:
    assert missing_language(text, ["eng"]) is not None


@pytest.mark.parametrize("text", HARMLESS)
def test_english_receipts_tables_drawings_and_foreign_names_are_not(text: str) -> None:
    assert missing_language(text, ["eng"]) is None


def test_english_loses_nothing_as_german_and_nothing_is_said_of_languages_without_words_here() -> None:
    assert missing_language(HARMLESS[0], ["deu"]) is None, "English letters are German ones, too: nothing is lost"
    assert missing_language(READ_AS_ENGLISH["deu"], ["lat"]) is None


def test_letters_of_another_script_are_noticed() -> None:
    found = missing_script("Arabic", ["eng", "deu"])
    assert found is not None and "Arabic" in found.detail and "tesseract-ocr-ara" in found.detail
    chinese = missing_script("Han", ["eng"])
    assert chinese is not None and "tesseract-ocr-chi-sim" in chinese.detail
    assert missing_script("Latin", ["eng"]) is None and missing_script("", ["eng"]) is None
    assert missing_script("Cyrillic", ["eng", "rus"]) is None
    assert missing_script("Japanese", ["chi_tra"]) is None, "the detection takes one for the other"


def test_a_page_that_reads_well_or_in_words_that_are_known_is_not_asked_for_its_script() -> None:
    garbage = "aXll ai BAS Cre osal ade cok oe pe Ul Candll"
    assert needs_script(garbage, 0.4, ["eng"])
    assert not needs_script(garbage, 0.9, ["eng"])
    assert not needs_script(HARMLESS[0], 0.6, ["eng"])
