"""What kind of task a message is: sentences of every kind, and sentences that only look like one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.models.routing.tasks import _TABLE, SIMPLE, Task, classify_task

SENTENCES = {
    Task.REASONING: (
        "Why does the compressor overheat when the valve is closed?",
        "Can you explain what caused the outage?",
        "What are the pros and cons of leasing versus buying?",
        "Analyze the impact of the new tariff on our margins",
        "Think through whether we should hire in Q3",
        "Erkläre mir den Unterschied zwischen Brutto und Netto",
        "Why did the turbine trip on Tuesday?",
        "Explain the function",
        "Explain the function of the pressure valve in two paragraphs.",
        "Think about the consequences of a rate cut.",
        "Analyse last quarter's losses",
        "Can you analyze the trade-offs between the two pumps?",
        "Compare the two contracts and tell me which is riskier",
        "Why was the plane late?",
        "Explain why we run the pumps at night",
        "Warum ist der Himmel blau?",
        "Pourquoi le serveur est-il lent ?",
        "Explica por qué bajó la producción",
        "اشرح لماذا توقفت المضخة",
    ),
    Task.CODE_GEN: (
        "Write me a bash script that rotates logs",
        "I need a function that validates IBANs",
        "Implement a REST endpoint in FastAPI",
        "Fix the bug in this Python code",
        "Create a SQL statement to list overdue invoices",
        "There is a traceback in my program, can you debug it?",
        "Write code that reverses a list",
        "write a python function to parse dates",
        "Please debug this script, it crashes on empty input",
        "Can you write a script that deletes old logs?",
        "Generate a SQL query for monthly revenue",
        "Refactor the loader so that it streams",
        "Schreibe eine Funktion, die Primzahlen zählt",
        "Écris une fonction qui trie une liste",
        "اكتب برنامج لترتيب الأسماء",
    ),
    Task.RAG_ANSWER: (
        "What does the contract say about termination?",
        "Search our documents for the warranty period",
        "Look in the handbook for the dress code",
        "Which page of the manual mentions the oil pressure?",
        "According to the policy, who approves travel?",
        "Find in the documents who signed the lease",
        "What does the doc say about overtime?",
        "What does our travel policy say about hotels?",
        "Search the knowledge base for the torque values",
        "According to the manual, how often is the filter changed?",
        "Look it up in our files",
        "Was steht im Vertrag über die Kündigung?",
        "Cherche dans les documents la date de livraison",
        "Busca en los documentos el nombre del proveedor",
        "ابحث في المستندات عن تاريخ العقد",
    ),
    Task.SUMMARIZE: (
        "Can you give me a summary of the report?",
        "tl;dr",
        "Summarize the main findings in three bullet points",
        "What are the key points of the meeting notes?",
        "Write a brief summary of the audit",
        "Summarize the board minutes",
        "TLDR of this thread please",
        "Give me a brief of the meeting",
        "Please summarise the document about translation to French",
        "Summarise the plan to execute the migration",
        "Sum up the code review",
        "Fasse den Bericht in drei Sätzen zusammen",
        "Résume ce texte",
        "Resumir el informe anual",
        "لخص هذا التقرير",
    ),
    Task.CLASSIFY: (
        "Categorize this expense",
        "Is this review positive or negative?",
        "Assign a label to each ticket",
        "Tag these emails by topic",
        "Classify these tickets by urgency",
        "Categorise the invoices",
        "Label each sentence as positive or negative",
        "Which category does this complaint belong to?",
        "Klassifiziere die folgenden E-Mails",
        "Clasifica estos mensajes",
        "صنف هذه الرسائل",
    ),
    Task.EXTRACT: (
        "Extract the email addresses",
        "Get all the dates from the letter",
        "Pull the invoice total out of this PDF",
        "List all names mentioned in the text",
        "Parse this JSON and return the ids",
        "Extract all invoice numbers from the text",
        "Parse the log and give me the timestamps",
        "Pull out the names of the parties",
        "Can you pull the totals out of this table",
        "Extrahiere alle Beträge",
        "Extrae las fechas del contrato",
        "استخرج أسماء الشركات",
    ),
    Task.TRANSLATE: (
        "Translate the following paragraph into English",
        "How would you say this in German?",
        "Please write it in French",
        "Traduis ce texte en anglais",
        "Traduce al inglés: buenos días",
        "Translate to German: please run the plan and summarize it",
        "translate this into Spanish",
        "Say good morning in Arabic",
        "Dis-le en français",
        "What is 'invoice' in French?",
        "How do you say thank you in Japanese?",
        "Übersetze den Satz ins Englische",
        "ترجم هذا النص",
        "قلها بالعربية",
        "Don't summarize it, translate it to Italian",
    ),
    Task.TOOL_CALL: (
        "Run the nightly job again",
        "SSH into the database host and restart postgres",
        "Execute uname -a on web-1",
        "Please run a health check",
        "Send an email to Anna",
        "Run the backup now",
        "execute the playbook on all hosts",
        "SSH into web-3 and check the disk",
        "Restart the nginx container",
        "Could you please run uptime on db-1?",
        "Ejecuta el comando en el servidor",
        "Führe das Skript aus",
        "نفذ الأمر",
    ),
    Task.PLANNING: (
        "How do I set up a VPN?",
        "Make a plan to migrate to Kubernetes",
        "Plan my trip to Rome",
        "What steps should we take to reduce costs?",
        "Create a roadmap for the next quarter",
        "Plan the move to the new office",
        "What are the steps to renew a licence?",
        "How to change a tyre",
        "Draft a rollout plan for the new ERP",
        "Give me a step-by-step guide",
        "Erstelle einen Plan für die Umstellung",
        "Quelles sont les étapes pour créer une société ?",
        "كيف أجدد الرخصة",
    ),
    Task.CHAT: (
        "Good morning",
        "Who are you?",
        "What is the capital of Peru?",
        "My phone plan ran out",
        "I watched a script reading in class today",
        "The board said no",
        "What time is it?",
        "Tell me a joke",
        "Hello!",
        "Thanks, that was great",
        "My briefcase is brown",
        "The prescription and the transcript are on the table",
        "We ran out of coffee",
        "In the long run we are all dead",
        "He is an executive at a record label",
        "The explanation was unclassified",
        "I like planets and runways",
        "Do not run it",
        "",
        "   \n\t ",
        "????? !!!!",
        "🙂",
        "مرحبا",
    ),
}


@pytest.mark.parametrize(("message", "task"), [(s, task) for task, all_of in SENTENCES.items() for s in all_of])
def test_a_sentence_is_of_its_kind(message: str, task: Task) -> None:
    """MR-01, MR-02: ten kinds of task by the documents' trigger words, whole words, in several languages."""
    judged = classify_task(message)
    assert judged.task is task, judged


def test_there_are_ten_kinds_and_each_but_chat_has_triggers() -> None:
    """MR-01: the ten names of the documents."""
    assert {str(task) for task in Task} == {
        "reasoning",
        "code_gen",
        "rag_answer",
        "summarize",
        "classify",
        "extract",
        "translate",
        "chat",
        "tool_call",
        "planning",
    }
    assert set(_TABLE) == set(Task) - {Task.CHAT} and set(Task) > SIMPLE
    assert sum(map(len, SENTENCES.values())) >= 60


def test_the_words_that_decided_are_told() -> None:
    judged = classify_task("Summarize the document")
    assert "summarize: summarize" in judged.triggers and "summarize" in judged.reason
    assert judged.scores[Task.SUMMARIZE] > judged.scores[Task.RAG_ANSWER] > 0
    assert classify_task("Hello").reason == "no trigger word"


def test_ties_are_broken_by_the_order_of_the_table() -> None:
    """MR-02: two outright triggers, neither at the beginning."""
    judged = classify_task("Today: extract and translate")
    assert judged.scores[Task.EXTRACT] == judged.scores[Task.TRANSLATE]
    assert judged.task is Task.TRANSLATE


def test_quoted_text_asks_for_nothing() -> None:
    assert classify_task('Translate to Polish "please run the script and debug it"').task is Task.TRANSLATE
    assert classify_task("Why does this fail?\n```\nsummarize(translate(text))\n```").task is Task.REASONING


def test_a_long_message_is_judged_by_its_beginning() -> None:
    assert (
        classify_task("Summarize this.\n" + "run the debugger and translate to French. " * 5000).task is Task.SUMMARIZE
    )


@given(st.text(max_size=300))
@settings(max_examples=80)
def test_any_text_has_a_task_and_always_the_same(text: str) -> None:
    judged = classify_task(text)
    assert judged == classify_task(text) and judged.task in Task
