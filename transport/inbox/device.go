package inbox

import (
	"cmp"
	"strings"
)

// Device is what a session is told apart by, as humans call it: "Chrome on Linux". What names no browser that is known stays
// as it is.
func (t shownToken) Device() string {
	raw := t.Name
	if !strings.HasPrefix(raw, "Mozilla/") {
		return raw
	}
	// Browsers name those before them: the first that is found here is the one.
	browser := firstNamed(raw, [][2]string{
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"Vivaldi/", "Vivaldi"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
	})
	system := firstNamed(raw, [][2]string{
		{"Windows", "Windows"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
	})
	switch {
	case browser == "":
		return raw
	case system == "":
		return browser
	default:
		return browser + " on " + system
	}
}

// firstNamed is the name that goes with the first of the marks that a text has, "" for none.
func firstNamed(text string, marks [][2]string) string {
	name := ""
	for _, m := range marks {
		if strings.Contains(text, m[0]) {
			name = cmp.Or(name, m[1])
		}
	}
	return name
}
