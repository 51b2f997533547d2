"""Labelled pairs of sentences of our own, as an example: paraphrases, and pairs that only look or sound alike."""

EXAMPLE_PAIRS: tuple[tuple[str, str, int], ...] = (
    ("How do I reset my password?", "I forgot my login, how can I get a new one?", 1),
    ("The film was wonderful.", "I enjoyed every minute of the movie.", 1),
    ("It is going to rain tomorrow.", "Showers are forecast for the next day.", 1),
    ("The company dismissed two hundred workers.", "Two hundred employees lost their jobs.", 1),
    ("She is learning to play the guitar.", "She takes guitar lessons.", 1),
    ("The train was half an hour late.", "The train arrived with a delay of thirty minutes.", 1),
    ("Please turn down the music.", "Could you make it a little quieter?", 1),
    ("The soup is too salty.", "Somebody put too much salt into the soup.", 1),
    ("He has not slept all night.", "He was awake until the morning.", 1),
    ("The shop opens at nine in the morning.", "Opening time of the shop is 9 a.m.", 1),
    ("My brother is taller than I am.", "I am shorter than my brother.", 1),
    ("The doctor told her to rest.", "She was advised by the physician to take it easy.", 1),
    ("I like this restaurant.", "I do not like this restaurant.", 0),
    ("A cat is sleeping on the sofa.", "The dog barks at the postman.", 0),
    ("The bank raised its interest rates.", "We sat on the bank of the river.", 0),
    ("My pet python is asleep.", "I wrote the script in Python.", 0),
    ("Everyone passed the exam.", "Nobody passed the exam.", 0),
    ("The flight leaves at six in the morning.", "We had breakfast at a hotel.", 0),
    ("How do I open an account?", "How do I close an account?", 0),
    ("The recipe needs two eggs.", "The two of them live on a farm.", 0),
    ("Water boils at a hundred degrees.", "The museum is closed on Mondays.", 0),
    ("She sings in a choir.", "The engine makes a strange noise.", 0),
    ("He painted the kitchen yellow.", "He cooked dinner in the kitchen.", 0),
    ("The children play in the garden.", "The orchestra plays in the concert hall.", 0),
)
"""First sentence, second sentence, and 1 where both say the same, otherwise 0."""
