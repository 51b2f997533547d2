"""Attribution: what each word of a text adds to a target, and which words make two texts alike."""
