package memory

import (
	"slices"
	"strings"
	"unicode"
)

// language is one whose pointing words are known.
type language int

const (
	inEnglish  language = iota
	inEuropean          // German, Dutch, French, Spanish, Portuguese, Italian or Russian
	inOther
)

// languageOf finds out the language of a wording by the words that only it has. Words that English shares with others ("we",
// "is", "of", "do", "on") say nothing.
func languageOf(words []string) language {
	en, eu, other := 0, 0, 0
	for i, w := range words {
		switch {
		case englishWord(w), i == 0 && (imperative(w) || generic(w)):
			en++
		case europeanWord(w), foreignAsking(w):
			eu++
		case strings.ContainsAny(w, "іїєґўјљњћђџѓќ"), cyrillicOther(w), latinOther(w):
			other++
		}
	}
	switch {
	case other > 0 && other >= en, en+eu == 0 && slices.ContainsFunc(words, accented):
		return inOther
	case eu > 0 && eu >= en:
		return inEuropean
	case en > 0 || !slices.ContainsFunc(words, startsLetter):
		return inEnglish
	case slices.ContainsFunc(words, otherWord):
		return inOther
	case slices.ContainsFunc(words, func(w string) bool {
		return function(w) || generic(w) || imperative(w) || standing(oneOf(w)) || unitOrDate(w) || quantity(w) || environment(w) || negation(w) || numberWord(w)
	}):
		return inEnglish
	}
	return inOther
}

// englishWord reports whether a word is English and hardly anything else.
func englishWord(w string) bool {
	switch w {
	case "the", "and", "should", "which", "how", "what", "when", "where", "who", "whom", "whose", "why", "with", "must", "shall", "does", "are", "from", "without", "would", "could", "any", "each", "every",
		"for", "or", "by", "use", "please", "it", "this", "these", "those", "be", "has", "have", "not", "may", "can", "our", "before", "after":
		return true
	}
	return false
}

// europeanWord has words by which the languages are known whose pointing words are listed.
func europeanWord(w string) bool {
	switch w {
	case "wir", "der", "dem", "den", "und", "oder", "für", "mit", "nicht", "eine", "einen", "einem", "einer", "werden", "wird", "zu", "auf", "bei", "nach", "vor", "kann", "können", "darf", "dürfen", "von", "im", "welche", "sollte",
		"de", "la", "di", "het", "een", "voor", "naar", "niet", "van", "met", "moet", "moeten", "welke", "wij", "wordt", "worden", "kunnen", "mogen", "ik", "hoe", "waar",
		"le", "les", "des", "du", "une", "pour", "avec", "dans", "nous", "sur", "est", "sont", "doit", "faut", "faut-il", "doit-on", "ou", "et", "quel", "quelle",
		"el", "los", "las", "una", "para", "con", "por", "usar", "debe", "deben", "podemos", "qué",
		"os", "um", "uma", "da", "das", "dos", "nas", "nos", "com", "não", "o", "devemos", "deve",
		"il", "lo", "gli", "della", "del", "per", "nel", "nella", "dei", "degli", "alla", "che",
		"мы", "нам", "для", "нужно", "надо", "следует", "стоит", "должны", "должен", "можно", "или", "какую", "какой", "какая", "какие", "использовать", "ли", "в", "на", "с", "из", "по":
		return w != "ли" && w != "на" && w != "в" && w != "с" && w != "из" && w != "по" && w != "для"
	}
	return false
}

// accented reports whether a word has a letter that English words hardly have.
func accented(w string) bool {
	return strings.ContainsFunc(w, func(r rune) bool { return r >= 0xC0 && unicode.IsLetter(r) })
}

// cyrillicOther has words of languages in Cyrillic script whose pointing words are not listed.
func cyrillicOther(w string) bool {
	switch w {
	case "да", "ще", "сега", "тази", "този", "това", "трябва", "или ", "чи", "зараз", "цю", "потрібно", "таблицата", "база", "дали", "треба", "сада", "цей", "ми":
		return w != "база"
	}
	return false
}

// latinOther has words of languages in Latin script whose pointing words are not listed, where others have them too.
func latinOther(w string) bool {
	switch w {
	case "czy", "mamy", "powinniśmy", "ska", "skal", "vi", "och", "og", "att", "ikke", "inte", "pitäisikö", "onko", "máme", "mám", "jestli", "trebuie", "să", "kell", "vajon", "hogy", "gerek", "mi", "ve", "için", "hangi", "apakah", "kita", "nên", "có":
		return true
	}
	return false
}

// foreignDeictic has the pointing words of the more spoken European languages. Those that are English words too count only
// where the wording is in one of these languages.
func foreignDeictic(w string, lang language) bool {
	switch w {
	// German, Dutch
	case "das", "nun", "es", "dit", "dat", "nu", "morgen":
		return lang == inEuropean
	case "jene", "jener", "jenes", "hier", "dort", "jetzt", "heute", "gestern", "weiter", "fortfahren", "weitermachen", "noch", "schon", "bald", "gerade", "eben", "sofort", "obige", "obigen", "obiger", "folgende", "folgenden", "beiden", "beide",
		"deze", "vandaag", "gisteren", "volgende", "vorige", "meteen", "straks", "nog", "al", "bovenstaande", "beide ", "vanavond",
		// French
		"ce", "cet", "cette", "ces", "ceci", "cela", "ça", "ici", "là", "maintenant", "aujourd'hui", "demain", "hier soir", "soir", "continuer", "encore", "déjà", "ci", "ci-dessus", "dessus", "suivant", "suivante", "suivants", "suivantes", "bientôt",
		// Spanish, Portuguese, Italian
		"este", "esta", "esto", "estos", "estas", "ese", "esa", "eso", "esos", "esas", "aquel", "aquella", "aquellos", "aquellas", "aquí", "aqui", "ahora", "hoy", "mañana", "ayer", "noche", "actual", "seguir", "todavía", "ya", "anterior", "anteriores", "siguiente", "siguientes",
		"isto", "isso", "esse", "essa", "esses", "essas", "aquele", "aquela", "desta", "deste", "nesta", "neste", "agora", "hoje", "atual", "amanhã", "ontem", "ainda", "já",
		"questo", "questa", "questi", "queste", "quello", "quella", "quelli", "quelle", "qui", "ora", "adesso", "oggi", "domani", "ieri", "stasera", "attuale", "procedere", "proceder", "continuar", "continuare", "ancora", "già", "seguente", "seguenti", "precedente", "precedenti",
		// Russian
		"здесь", "тут", "сейчас", "теперь", "сегодня", "завтра", "вчера", "продолжать", "продолжить", "ещё", "еще", "уже", "скоро", "немедленно", "вечером", "утром":
		return true
	}
	// Words that are inflected go by their beginning.
	for _, p := range [...]string{
		"dies", "heutig", "gestrig", "morgig", "jetzig", "aktuell", "derzeitig", "bisherig", "vorig", "nächst", "letzt", "neu", "jüngst", "kommend", "nieuw", "huidig", "volgend", "vorig", "afgelopen", "komend", "laatst", "recent",
		"nouve", "nouvel", "actuel", "prochain", "derni", "précédent", "récent", "nuev", "próxim", "últim", "pasad", "reciente", "nov", "atua", "nuov", "attual", "prossim", "ultim", "scors", "passat", "recen",
		"это", "эти", "этa", "эта", "эту", "нов", "текущ", "последн", "следующ", "предыдущ", "прошл", "недавн", "нынешн", "ближайш", "сегодняшн", "завтрашн", "вчерашн", "будущ", "тот", "та ", "те ", "данн",
	} {
		if strings.HasPrefix(w, p) && (len(p) > 3 || len(w) <= len(p)+4) {
			return true
		}
	}
	return false
}

func foreignPermission(words []string) bool {
	for _, w := range words {
		switch w {
		case "darf", "dürfen", "kann", "können", "soll", "erlaubt", "okay", "mag", "mogen", "kan", "kunnen", "zal", "puis", "peux", "peut", "pouvons", "puis-je", "peut-on", "puedo", "podemos", "puede", "posso", "possiamo", "pode", "può",
			"можно", "могу", "можем", "разрешено", "fortfahren", "weitermachen":
			return true
		}
	}
	return false
}
