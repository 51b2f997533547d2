"""Texts of the view of probes."""

HOW = (
    "The model is not changed: each text becomes one vector by the pooling, on every layer. A probe is multinomial "
    "logistic regression on these vectors (each dimension brought to mean 0 and spread 1), fitted on four fifths of "
    "the texts and tried on the fifth that it has not seen, five times over, every part with its share of each class. "
    "The *control task* does the same with shuffled labels (Hewitt and Liang 2019): what is right there is learned by "
    "heart or luck, and accuracy minus control is the probe's *selectivity*. The long-dashed line is always naming the "
    "most frequent class."
)
READ = (
    "High on the first entry: the words alone tell the classes apart. A rise over the layers: context adds to it. "
    "What a probe can read is in the vector; whether the model uses it, it does not say."
)
ANSWER = (
    "The text becomes one vector as the labelled texts did; `softmax(vector @ weight.T + bias)` are the probabilities. "
    "This probe was fitted on all labelled texts, its accuracy measured on parts that it had not seen."
)
