"""Short texts of all scripts, with which two tokenizers are compared."""

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
