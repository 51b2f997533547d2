"""Compare the tokenizer that transformers builds with the one of the file tokenizer.json.

transformers 5 takes only the vocabulary from that file where the class of a tokenizer builds its own rules, and where
no class, or a foreign one, is named, these may not be those of the file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bertviz_core.errors import CheckpointError
from bertviz_core.isolation.regular_files import VOCABULARY_NBYTES, present, read_file
from bertviz_core.isolation.sanitized.tokenizer import SERIALIZED, harmless_bytes
from bertviz_core.lazy_imports import transformers
from bertviz_core.models.sentence_folder import STATIC_TYPE
from bertviz_core.text import counted, quoted, shortened
from bertviz_core.trace.isolated.backend import read_backend
from bertviz_core.trace.isolated.messages import TokenizerReceipt

_LINES = """
The bank by the river.|She didn't pay $1,234.56!|the quick brown fox jumps over the lazy dog|HELLO World|I've read it.
Der Fluss tritt über die Ufer.|Straße und Übergröße|Donaudampfschifffahrtsgesellschaft|ÄÖÜ äöü ß|Das weiß ich nicht.
L'été, nous étions à la plage.|C'est où, la gare ?|œuvre naïve|Ça va bien, merci.|À bientôt !
¿Dónde está la biblioteca?|El niño comió piñas.|¡Qué alegría!|mañana por la mañana|español
A ação começou às três.|Não há pão na mesa.|coração|Você está bem?|São Paulo
Perché no? È così.|La città è più bella.|Un caffè, per favore.|gli gnocchi|Lui verrà domani.
De kinderen spelen buiten.|één, twee, drie|ijsvrij|'s avonds laat|België
Barnen läser en bok.|På ön finns det älgar.|smörgåsbord|Hvor bor du?|blåbærsyltetøy på brød
Hän lukee kirjaa.|yötyö|Hyvää päivää!|epäjärjestelmällisyys|Eesti keel on ilus. Jüri sõi õuna.
Þetta er góður dagur.|Ísland|fjörður og ðað|Bhí an lá go breá.|Croeso i Gymru! Ŵyn bach
Zażółć gęślą jaźń.|W Szczebrzeszynie chrząszcz brzmi.|Łódź|Dzień dobry!|książka
Příliš žluťoučký kůň úpěl.|Dobrý den, jak se máte?|ľúbim ťa|Čeština|řeka
Árvíztűrő tükörfúrógép|Jó reggelt!|Szép idő van ma.|Őszinte ölelés|kör
Şehirde yağmur yağıyor.|İstanbul'da ışık|çok güzel|ığüşöç IĞÜŞÖÇ|Azərbaycan dili
Trường học ở đâu?|Tôi yêu tiếng Việt.|Đường phố Hà Nội|phở bò|Cảm ơn bạn rất nhiều.
Saya suka membaca buku.|Selamat pagi!|Magandang umaga po.|Ninapenda kusoma vitabu.|Ẹ káàárọ̀, báwo ni?
Șapte sute de oameni.|Țara mea|Bună dimineața!|Tere hommikust!|Labas rytas, ąžuolas ir žąsis
Labrīt! Kā tev iet?|Gżira u Ħamrun|Mirëdita, çfarë po bën?|Živjo, kako si?|đak čita ćirilicu
Москва — столица России.|Ёлка и ёж|Привет, мир!|не знаю|Съешь ещё этих мягких булок.
Київ — столиця України.|Їжак і ґанок|Дзякуй, сябар! Ўсё добра|Добро јутро, Љубљана|Здравей, свят!
Ο ποταμός είναι βαθύς.|ΑΘΗΝΑ Αθήνα αθήνα|Καλημέρα κόσμε!|ᾠδή ἀρχή|Σίσυφος ς
Բարեւ, աշխարհ։|Հայերեն լեզու|გამარჯობა მსოფლიო|ქართული ენა|Ⴀ Ⴁ ა ბ
שלום עולם!|הבנק ליד הנהר|בְּרֵאשִׁית|ספר טוב|יום אחד
مرحبا بالعالم!|البنك على ضفة النهر|بِسْمِ اللَّهِ|كتاب جديد|١٢٣٤٥
سلام دنیا|کتاب می‌خوانم|آپ کیسے ہیں؟|ښه راغلاست|ئۇيغۇر تىلى
नमस्ते दुनिया!|नदी के किनारे बैंक|क्षत्रिय और ज्ञान|१२३ हिन्दी|मराठी भाषा
আমি বাংলায় গান গাই।|নদীর ধারে|ক্ষ জ্ঞ|অসমীয়া ভাষা ৰ ৱ|১২৩
ਪੰਜਾਬੀ ਬੋਲੀ|ગુજરાતી ભાષા|ଓଡ଼ିଆ ଭାଷା|ਸਤ ਸ੍ਰੀ ਅਕਾਲ|કેમ છો?
தமிழ் மொழி|ஆற்றின் கரையில்|வணக்கம் உலகம்|స్వాగతం ప్రపంచం|తెలుగు భాష
ಕನ್ನಡ ಭಾಷೆ|ನಮಸ್ಕಾರ ಜಗತ್ತು|മലയാളം ഭാഷ|നദീതീരം|සිංහල භාෂාව
สวัสดีชาวโลก|ธนาคารริมแม่น้ำ|ภาษาไทยไม่มีวรรค|ສະບາຍດີ|ພາສາລາວ
မင်္ဂလာပါ|မြန်မာဘာသာ|សួស្តី​ពិភពលោក|ភាសាខ្មែរ|བོད་སྐད་
你好，世界！|银行在河边。|繁體中文與簡体中文|我愛北京天安門|一二三四五
こんにちは、世界。|カタカナとひらがな|東京都に住んでいます|ｶﾀｶﾅ 半角|ー々〆
안녕하세요, 세계!|강가의 은행|한국어 문장입니다.|각 각|ㄱㄴㄷ
ሰላም ዓለም|አማርኛ ቋንቋ|ትግርኛ|ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ|ᐃᓄᒃᑎᑐᑦ
Сайн байна уу?|Қазақ тілі|ᠮᠣᠩᠭᠣᠯ|Ўзбек тили|ߒߞߏ
0 1 2 3 4 5|3.14159|1,000,000|12:34:56|2024-02-29
1e-5 and 6.02E23|½ ¾ ²³|Ⅷ ⅸ|٣٫١٤|0x1F 0b101
a@b.org|https://example.org/path?q=1&r=2#top|www.example.com|/usr/local/bin|C:\\Temp\\file.txt
def f(x): return x**2|if (a != b) { c++; }|<b>bold</b>|SELECT * FROM t WHERE id = 1;|{"key": [1, 2.5, null]}
don't can't won't|it's O'Neill's|rock'n'roll|state-of-the-art|e.g. U.S.A.
"quoted" 'single'|“curly” ‘quotes’|«guillemets»|(brackets) [square] {curly}|…—–-_
!!!???|?!.,;:|### ***|@user #tag|100% & more
€ £ ¥ ₹ ₿|± × ÷ ≠ ≤ ∞|∑ ∫ √ ∂|α β γ Δ Ω|→ ⇒ ↔
😀 😃 😄|👍🏽 👩‍👩‍👧‍👦 🇩🇪|❤️ ✔ ☺|🏳️‍🌈|日本🗾
café café|Å Å Å|ﬁ ﬂ ﬀ|Ａｂｃ １２３|ǅ ǆ
two  spaces   three|tab\there|\u00a0no-break\u00a0space| leading and trailing\u0020
zero\u200bwidth|soft\u00adhyphen|\ufeffmark|a\u0301 combining|\u2028separator
Mixed МИКС 混合 مزيج|BERT base uncased|iPhone15Pro|snake_case CamelCase|ALLCAPS lowercase
aaaaaaaaaaaaaaaaaaaa|xyzzy qwrtp|antidisestablishmentarianism|pneumonoultramicroscopic|zzz
bank|Bank|BANK|the bank|The
a|I|.|?|ß
river bank , love|my pet python|unaffable|embeddings|tokenization
"""
SAMPLES: tuple[str, ...] = tuple(text for line in _LINES.strip("\n").split("\n") for text in line.split("|"))
"""The texts; none is empty."""


SHOWN_TOKENS, SHOWN_BEFORE, LONGEST_SAMPLE = 5, 1, 60
"""Tokens of a difference that are shown, those of them before it, and characters of its text."""
MOST_ADDED = 500
"""Maximum number of added tokens that are compared."""
READ_AS_IT_IS = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Classes that read tokenizer.json, and build no rules of their own."""


class ReadTokenizer(NamedTuple):
    """A tokenizer, and how it differs from that of its tokenizer.json."""

    backend: "transformers.PreTrainedTokenizerBase"
    """The tokenizer."""
    by_file: Any
    """The tokenizer of tokenizer.json; None where it is the backend, or there is none."""
    receipt: TokenizerReceipt | None
    """Comparison of AutoTokenizer's with that of tokenizer.json; None where one of them is missing."""


def file_tokenizer(folder: Path) -> Any:
    """The tokenizer of the file tokenizer.json, without truncation and padding; None if there is no such file."""
    if not present(folder, SERIALIZED):
        return None
    from tokenizers import Tokenizer

    try:
        raw = harmless_bytes(SERIALIZED, read_file(folder, SERIALIZED, VOCABULARY_NBYTES))
        tokenizer = Tokenizer.from_str(raw.decode())
    except CheckpointError:
        return None
    except Exception:  # tokenizers raises a bare Exception for what it cannot read; AutoTokenizer has said so
        return None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def tokenizer_receipt(backend: Any, by_file: Any, texts: Sequence[str] = SAMPLES) -> TokenizerReceipt | None:
    """Compare the ids of some texts; None without a file.

    Args:
        backend: the tokenizer of AutoTokenizer.
        by_file: output of `file_tokenizer`.
    """
    if by_file is None:
        return None
    same, first = _compared(backend, by_file, texts)
    count = len(texts)
    if not first:
        added = _with_added_tokens(backend, by_file)
        equal, first = _compared(backend, by_file, added)
        count += len(added) - equal
    return TokenizerReceipt(count, same, type(backend).__name__, first)


def _compared(backend: Any, by_file: Any, texts: Sequence[str]) -> tuple[int, str]:
    """How many texts get the same ids, and the first difference in words; "" for none."""
    same, first = 0, ""
    for text, ids, encoding in zip(texts, _rows(backend, texts), by_file.encode_batch(list(texts)), strict=True):
        if ids == encoding.ids:
            same += 1
        elif not first and ids is None:
            first = f"{quoted(text)} it cannot read"
        elif not first:
            first = difference(text, backend.convert_ids_to_tokens(ids), spelled_by_file(by_file, encoding.ids))
            first = first or f"of {quoted(text)} it makes the same tokens with other ids"
    return same, first


def _with_added_tokens(backend: Any, by_file: Any) -> list[str]:
    """A text for each added token of one of two tokenizers, those first that only one has, or reads by other rules."""
    own, theirs = getattr(backend, "added_tokens_decoder", {}), by_file.get_added_tokens_decoder()
    every = {repr(token): str(token) for token in (*own.values(), *theirs.values())}
    both = {repr(token) for token in own.values()} & {repr(token) for token in theirs.values()}
    tokens = dict.fromkeys(every[each] for each in sorted(every, key=both.__contains__))
    return [f"a {token} b{token}c" for token in list(tokens)[:MOST_ADDED]]


def spelled_by_file(by_file: Any, ids: Sequence[int]) -> list[str]:
    """The tokens of ids; the encoding of a Unigram model has the letters of the text for an unknown one."""
    return [str(by_file.id_to_token(each)) for each in ids]


def _rows(backend: Any, texts: Sequence[str]) -> list[list[int] | None]:
    """The ids of each text; None for one that the tokenizer cannot read."""
    try:
        return [list(row) for row in backend(list(texts), verbose=False)["input_ids"]]
    except Exception:  # a tokenizer may raise anything, such as one without an unknown token
        return [None] if len(texts) == 1 else [row for text in texts for row in _rows(backend, [text])]


def difference(text: str, tokens: Sequence[str | None], by_file: Sequence[str]) -> str:
    """The first difference between two lists of tokens of a text, in words; "" if they are equal."""
    pairs = zip(tokens, by_file, strict=False)
    place = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(tokens), len(by_file)))
    if place == len(tokens) == len(by_file):
        return ""
    start = max(place - SHOWN_BEFORE, 0)
    shown = shortened(" ".join(text.split()), LONGEST_SAMPLE)
    return f"of {quoted(shown)} it makes {_row(tokens, start)}, the file {_row(by_file, start)}"


def _row(tokens: Sequence[str | None], start: int) -> str:
    named = [quoted(str(each), 40) for each in tokens[start : start + SHOWN_TOKENS]]
    before, after = ["..."] * (start > 0), ["..."] * (len(tokens) > start + SHOWN_TOKENS)
    return " ".join((*before, *named, *after)) or "nothing"


def read_tokenizer(name: str, folder: Path, raw_config: Mapping[str, Any], own: bool) -> ReadTokenizer:
    """Load the tokenizer of a folder, and compare it with that of its tokenizer.json.

    Args:
        own: whether tokenizer.json is read as it is, and not by AutoTokenizer.
    """
    backend = read_backend(name, folder, raw_config, own)
    if raw_config.get("model_type") == STATIC_TYPE:  # read from the file, and without the tokens that it adds
        return ReadTokenizer(backend, None, None)
    compared, by_file = backend, file_tokenizer(folder)
    if own:
        try:
            compared = read_backend(name, folder, raw_config)
        except CheckpointError:  # only the file can be read
            return ReadTokenizer(backend, None, None)
    return ReadTokenizer(backend, None if own else by_file, tokenizer_receipt(compared, by_file))


def tokenizer_notice(name: str, receipt: TokenizerReceipt | None, own: bool, suffix: str) -> tuple[str, ...]:
    """A notice if AutoTokenizer and tokenizer.json give different ids.

    Args:
        receipt: their comparison.
        own: whether tokenizer.json is read as it is.
        suffix: end of the name of a model for which it is.
    """
    if receipt is None or not receipt.difference:
        return ()
    other = f"{receipt.texts - receipt.same:,} of {counted(receipt.texts, 'sample text')}"
    builds = f"builds a {receipt.class_name} of its vocabulary"
    if receipt.class_name in READ_AS_IT_IS:
        builds = "adds what the folder's other files say of its tokens"
    about = f"AutoTokenizer {builds}, which gives {other} other ids than the file"
    if own:
        return (f"{name}: its tokenizer.json is read as it is; {about}: {receipt.difference}.",)
    return (
        f"{name}: its tokenizer.json is not read as it is: {about} itself: {receipt.difference}. {name}{suffix} is "
        "the model with the tokenizer of the file.",
    )


def text_notice(name: str, text: str, tokens: Sequence[str | None], by_file: Sequence[str], suffix: str) -> str:
    """A notice if a text gets other ids from tokenizer.json, where all sample texts get the same."""
    words = difference(text, tokens, by_file)
    return words and (
        f"{name}: AutoTokenizer and tokenizer.json read this text differently: {words}. {name}{suffix} is the model "
        "with the tokenizer of the file."
    )


def receipt_sentence(receipt: TokenizerReceipt) -> str:
    """How many texts get the same ids, in one sentence."""
    return (
        f"{receipt.same:,} of {counted(receipt.texts, 'sample text')} of all scripts get the same ids from "
        f"AutoTokenizer ({receipt.class_name}) and from tokenizer.json."
    )
