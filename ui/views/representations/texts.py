"""Texts of the page Representations."""

VALUES_WORDS = (
    "`hidden_states[0]` is the output of the embedding block (“embeddings”); `hidden_states[i]` is what layer i - 1 "
    "hands on (“after layer i - 1”). The scale is symmetric around 0, so that the colour of the paper is 0. A large "
    "value is "
    "not by itself important: a few dimensions are large in nearly every token."
)
COMPARED = (
    "Both models are run on the text. For every token and every entry of the hidden states the cell is the cosine of "
    "its two vectors, `a · b / (|a| |b|)`: 1 where they point the same way. Tokens are the same where they cover the "
    "same characters, whatever the vocabularies. Two models that were not trained from one start have no reason to "
    "agree in their dimensions, so their cosines are near 0 even where they mean the same; *Layers over many texts* "
    "on the page Checkpoint compares such models by CKA."
)
CHANGE_WORDS = (
    "The turn in a layer is the cosine distance, 1 - cosine, between a token's vectors before and after it: 0 where "
    "the layer only lengthens or shortens the vector, 1 at a right angle. It is small partly because of the residual "
    "connection, which hands the vector on. Length is the Euclidean norm."
)
SIMILARITY_WORDS = (
    "Every cell is the cosine of two tokens' vectors in the hidden state that the title names; the diagonal is 1. "
    "Vectors of one text often point into one narrow cone, so that all cosines are high: compare cells with each other."
)
PATHS_WORDS = (
    "One principal component analysis over the vectors of the chosen tokens in all hidden states together, so that all "
    "layers share a plane, both axes of it in one scale. Nearness in the plane is not "
    "nearness in the model where the share of variance is small."
)
INPUT_WORDS = (
    "Each token's id, position and type pick a row of their tables; the rows are added number by number and the sum is "
    "normalised, except in families that begin each layer with a norm instead, such as GPT-2 and T5. Families with "
    "rotary or relative positions add no position here."
)
POOLER_WORDS = (
    "The pooler is a linear layer and tanh on the first token's last vector, trained with next-sentence prediction. In "
    "a model that was tuned with another pooling its output means little: the mean of the token vectors may serve "
    "better."
)
WORD_WORDS = (
    "The row of the word table is the same in every text: cosine 1. The embeddings add the position, and each layer "
    "mixes in the context, so that the two vectors part. A word of several pieces is the mean of its pieces. The word "
    "is found by its characters in the text, so punctuation behind it does not count."
)
