"""Example sets of sentences: each shows one property that a sentence vector captures, or does not."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, str]] = {
    "homonyms": (
        "One spelling, two meanings: does the model keep them apart, or go by the word?",
        "The bank raised its interest rates.\n"
        "I opened an account at the bank.\n"
        "We sat on the bank of the river.\n"
        "Reeds grew along the muddy bank.\n"
        "A bat flew out of the cave.\n"
        "He swung the bat and missed the ball.\n"
        "My pet python is asleep.\n"
        "I wrote the script in Python.",
    ),
    "paraphrases": (
        "Other words, one meaning: each line says the same as its neighbour. Does the model see it?",
        "How do I reset my password?\n"
        "I forgot my login, how can I get a new one?\n"
        "The film was wonderful.\n"
        "I enjoyed every minute of the movie.\n"
        "It is going to rain tomorrow.\n"
        "Showers are forecast for the next day.\n"
        "The company dismissed two hundred workers.\n"
        "Two hundred employees lost their jobs.",
    ),
    "negation": (
        "A word changed, the meaning turned round: many models call these pairs nearly the same.",
        "I like this restaurant.\n"
        "I do not like this restaurant.\n"
        "The test was positive.\n"
        "The test was negative.\n"
        "Everyone passed the exam.\n"
        "Nobody passed the exam.\n"
        "The treatment is safe.\n"
        "The treatment is not safe.",
    ),
    "word order": (
        "The same words in another order: layer 0 tells them apart by their positions alone.",
        "The dog bites the man.\n"
        "The man bites the dog.\n"
        "She gave him the book.\n"
        "He gave her the book.\n"
        "Only I saw the child.\n"
        "I saw only the child.\n"
        "The cat chased the mouse.\n"
        "The mouse chased the cat.",
    ),
}
"""Name of a set -> what it shows, and its sentences, one per line."""

QUERIES: Mapping[str, str] = {
    "homonyms": "Where can I open an account?",
    "paraphrases": "I cannot sign in.",
    "negation": "This place is not good.",
    "word order": "A man was bitten by a dog.",
}
"""Name of a set -> an instructive query for it."""
