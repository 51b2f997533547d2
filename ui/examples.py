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

SEARCH_ROWS = """Who wrote Hamlet?	William Shakespeare finished the tragedy of the Danish prince around 1600.	1
Who wrote Hamlet?	Hamlet is a small town in North Carolina.	0
Who wrote Hamlet?	Who wrote Macbeth?	0
What is the capital of Australia?	Canberra has been the seat of the Australian government since 1927.	1
What is the capital of Australia?	Sydney is the largest city of Australia.	0
What is the capital of Australia?	What is the capital of Austria?	0
How hot does water have to be to boil?	At sea level it takes 100 degrees Celsius, on a mountain less.	1
How hot does water have to be to boil?	Boil the water before you add the pasta.	0
Why is the sky blue?	Air scatters short waves of sunlight more than long ones.	1
Why is the sky blue?	Blue is a colour of many flags.	0
Why is the sky blue?	Why is the sea salty?	0
How do I reset my password?	Choose "Forgotten" below the login, and follow the link that we send you.	1
How do I reset my password?	A password should have twelve characters or more.	0
How do I reset my password?	How do I change my user name?	0"""
"""Queries with a relevant document and misleading ones, which share words with the query or are queries, too."""
