package revue

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAskNormalized(t *testing.T) {
	good := Ask{
		Question: "Which one?", Options: []Option{{Value: "a"}, {Value: "b"}}, Recommendation: "a",
		Context: "because", Concepts: []string{"x"}, Files: []string{"f"}, Stream: "web",
	}
	approval := Ask{Kind: KindApproval, Question: "Delete?", Affected: []Affected{{Label: "x"}}}
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, itoa(int64(i)))
		}
		return out
	}
	manyOptions := func(n int) (out []Option) {
		for i := range n {
			out = append(out, Option{Value: itoa(int64(i))})
		}
		return out
	}
	for name, c := range map[string]struct {
		from   Ask
		change func(*Ask)
		field  string // "" is valid
	}{
		"good":                     {good, func(*Ask) {}, ""},
		"a good approval":          {approval, func(*Ask) {}, ""},
		"unknown kind":             {good, func(a *Ask) { a.Kind = "x" }, "kind"},
		"blank":                    {good, func(a *Ask) { a.Question = " \t\n" }, "question"},
		"nothing to see":           {good, func(a *Ask) { a.Question = "\u200b\u2800\u3164\ufeff" }, "question"},
		"marks on nothing":         {good, func(a *Ask) { a.Question = "\u0301 \u0301\u20dd" }, "question"},
		"what stands for nothing":  {good, func(a *Ask) { a.Question = "\ufffc \ufffd" }, "question"},
		"one symbol":               {good, func(a *Ask) { a.Question = "?" }, ""},
		"one emoji":                {good, func(a *Ask) { a.Question = "\U0001F44D" }, ""},
		"a letter with marks":      {good, func(a *Ask) { a.Question = "e\u0301" }, ""},
		"a letter that is a mark":  {good, func(a *Ask) { a.Options[1].Value = "\u0301" }, "options[1].value"},
		"blank title":              {approval, func(a *Ask) { a.Question = "" }, "title"},
		"NUL":                      {good, func(a *Ask) { a.Question = "a\x00b" }, "question"},
		"invalid UTF-8":            {good, func(a *Ask) { a.Question = "a\xff" }, "question"},
		"question at the limit":    {good, func(a *Ask) { a.Question = strings.Repeat("x", MaxQuestion) }, ""},
		"question over it":         {good, func(a *Ask) { a.Question = strings.Repeat("x", MaxQuestion+1) }, "question"},
		"bytes count, not letters": {good, func(a *Ask) { a.Question = strings.Repeat("é", MaxQuestion/2+1) }, "question"},
		"context at the limit":     {good, func(a *Ask) { a.Context = strings.Repeat("x", MaxContext) }, ""},
		"context over it":          {good, func(a *Ask) { a.Context = strings.Repeat("x", MaxContext+1) }, "context"},
		"NUL in context":           {good, func(a *Ask) { a.Context = "\x00" }, "context"},
		"control in context":       {good, func(a *Ask) { a.Context = "\x1b[31m\u202e" }, ""},
		"32 options":               {good, func(a *Ask) { a.Options, a.Recommendation = manyOptions(32), "" }, ""},
		"33 options":               {good, func(a *Ask) { a.Options, a.Recommendation = manyOptions(33), "" }, "options"},
		"blank value":              {good, func(a *Ask) { a.Options[1].Value = "  " }, "options[1].value"},
		"no value, no label":       {good, func(a *Ask) { a.Options[1] = Option{Consequence: "x"} }, "options[1].value"},
		"twice":                    {good, func(a *Ask) { a.Options[1].Value = "a" }, "options[1].value"},
		"twice but for a space":    {good, func(a *Ask) { a.Options[1].Value = "a " }, "options[1].value"},
		"tab":                      {good, func(a *Ask) { a.Options[1].Value = "b\tc" }, "options[1].value"},
		"line break":               {good, func(a *Ask) { a.Options[1].Value = "b\nc" }, "options[1].value"},
		"line separator":           {good, func(a *Ask) { a.Options[1].Value = "b\u2028c" }, "options[1].value"},
		"escape":                   {good, func(a *Ask) { a.Options[1].Value = "b\x1b" }, "options[1].value"},
		"bidi":                     {good, func(a *Ask) { a.Options[1].Value = "b\u202ec" }, "options[1].value"},
		"isolate":                  {good, func(a *Ask) { a.Options[1].Value = "b\u2066c" }, "options[1].value"},
		"zero width space":         {good, func(a *Ask) { a.Options[1].Value = "b\u200bc" }, "options[1].value"},
		"family emoji":             {good, func(a *Ask) { a.Options[1].Value = "👩‍👩‍👧" }, ""},
		"right to left text":       {good, func(a *Ask) { a.Options[1].Value = "שלום" }, ""},
		"long value":               {good, func(a *Ask) { a.Options[1].Value = strings.Repeat("x", MaxOptionText+1) }, "options[1].value"},
		"long label":               {good, func(a *Ask) { a.Options[1].Label = strings.Repeat("x", MaxOptionText+1) }, "options[1].label"},
		"NUL in a consequence":     {good, func(a *Ask) { a.Options[1].Consequence = "\x00" }, "options[1].consequence"},
		"recommends another":       {good, func(a *Ask) { a.Recommendation = "c" }, "recommendation"},
		"recommends by label":      {good, func(a *Ask) { a.Options[1].Label, a.Recommendation = "Bee", "Bee" }, ""},
		"recommends freely":        {good, func(a *Ask) { a.Options, a.Recommendation = nil, "c" }, ""},
		"64 concepts":              {good, func(a *Ask) { a.Concepts = many(64) }, ""},
		"65 concepts":              {good, func(a *Ask) { a.Concepts = many(65) }, "concepts"},
		"256 files":                {good, func(a *Ask) { a.Files = many(256) }, ""},
		"257 files":                {good, func(a *Ask) { a.Files = many(257) }, "files"},
		"long file":                {good, func(a *Ask) { a.Files = []string{strings.Repeat("x", MaxTerm+1)} }, "files[0]"},
		"NUL in a concept":         {good, func(a *Ask) { a.Concepts = []string{"a", "b\x00"} }, "concepts[1]"},
		"affected in a decision":   {good, func(a *Ask) { a.Affected = []Affected{{Label: "x"}} }, "affected"},
		"256 affected":             {approval, func(a *Ask) { a.Affected = make256(256) }, ""},
		"257 affected":             {approval, func(a *Ask) { a.Affected = make256(257) }, "affected"},
		"blank affected":           {approval, func(a *Ask) { a.Affected = []Affected{{Meta: "x"}} }, "affected[0].label"},
		"stream":                   {good, func(a *Ask) { a.Stream = "Web-App.2" }, ""},
		"no slug":                  {good, func(a *Ask) { a.Stream = "web app" }, "stream"},
		"long stream":              {good, func(a *Ask) { a.Stream = strings.Repeat("x", MaxStream+1) }, "stream"},
		"approval with options":    {approval, func(a *Ask) { a.Options = good.Options }, "options"},
		"approval that recommends": {approval, func(a *Ask) { a.Recommendation = "approved" }, "recommendation"},
		"approval with a ref":      {approval, func(a *Ask) { a.DecisionRef = "ask_1" }, "decisionRef"},
	} {
		a := c.from
		a.Options = append([]Option(nil), a.Options...)
		c.change(&a)
		got, err := a.normalized()
		if c.field == "" {
			require.NoError(t, err, name)
			again, err := got.normalized()
			require.NoError(t, err, name)
			require.Equal(t, got, again, "%s: normalizing again changes nothing", name)
			continue
		}
		require.ErrorIs(t, err, ErrInvalid, name)
		require.True(t, strings.HasPrefix(MessageOf(err), c.field+":"), "%s: %v", name, err)
	}
}

func make256(n int) (out []Affected) {
	for i := range n {
		out = append(out, Affected{Label: itoa(int64(i))})
	}
	return out
}

func TestClamps(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{
		0: DefaultExpiry, -time.Hour: MinExpiry, 1: MinExpiry, time.Minute: time.Minute, 1 << 62: MaxExpiry,
	} {
		a, err := Ask{Kind: KindApproval, Question: "x", Expires: in}.normalized()
		require.NoError(t, err)
		require.Equal(t, want, a.Expires, in)
	}
	for in, want := range map[time.Duration]time.Duration{0: 0, -1: 0, time.Minute: time.Minute, 1 << 62: MaxWait} {
		a, err := Ask{Question: "x", Wait: in}.normalized()
		require.NoError(t, err)
		require.Equal(t, want, a.Wait, in)
	}
}

func TestValuesComeBackByteForByte(t *testing.T) {
	for _, v := range []string{" a ", "A", "\"quoted\"", "e\u0301", "é", "<b>", "5/50", "\\n"} {
		a, err := Ask{Question: "x", Options: []Option{{Value: v}, {Value: "other"}}}.normalized()
		require.NoError(t, err)
		require.Equal(t, v, a.Options[0].Value)
	}
}

// FuzzAsk checks that whatever an agent sends is either refused with the field, or normalized for good.
func FuzzAsk(f *testing.F) {
	f.Add("Which?", "a", "A", "b", "rec", "ctx", "concept", "web")
	f.Add("\x00", "\u202e", "", "", "", "\r\n", "", " X ")
	f.Fuzz(func(t *testing.T, q, v, l, v2, rec, ctx, concept, stream string) {
		a, err := Ask{
			Question: q, Options: []Option{{Value: v, Label: l}, {Value: v2}}, Recommendation: rec,
			Context: ctx, Concepts: []string{concept, concept}, Stream: stream,
		}.normalized()
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			require.Contains(t, MessageOf(err), ": ")
			return
		}
		again, err := a.normalized()
		require.NoError(t, err)
		require.Equal(t, a, again)
		require.Equal(t, a.key(), again.key())
		require.False(t, blank(a.Question))
		for _, o := range a.Options {
			require.False(t, blank(o.Value))
			require.False(t, blank(o.Label))
		}
	})
}

// What a human gives in their own words has to say something that can be read.
func TestBlankWords(t *testing.T) {
	free := Lot{Kind: KindDecision}
	offers := Lot{Kind: KindDecision, Options: []Option{{Value: "a", Label: "a"}}}
	for _, s := range []string{
		"", " ", "\t\n", "\u00a0", "\u200b", "\u2028", "\ufeff", "\u202e", "\u2800", "\u3164", "\u115f", "\uffa0", "\u00ad", "\u034f", "\ufe0f",
		"\u0301", "\u0301\u0300", " \u20dd ", "\u0903", "\ufffc", "\ufffd", "\u0301\ufffc\u200d", "\U000e0041", "\ue000", "\u0378",
	} {
		require.True(t, blank(s), "%q", s)
		for _, l := range []Lot{free, offers} {
			_, err := Answer{Text: s}.normalized(l)
			require.Equal(t, CodeInvalid, CodeOf(err), "%q", s)
			_, err = Answer{Value: s}.normalized(l)
			require.Equal(t, CodeInvalid, CodeOf(err), "%q", s)
		}
	}
	for _, s := range []string{"a", "0", "?", "+", "€", "👍", "e\u0301", "é", "中", "ا", "\u0301a", "٣", "½", "…", "→"} {
		require.False(t, blank(s), "%q", s)
		got, err := Answer{Text: s}.normalized(free)
		require.NoError(t, err, "%q", s)
		require.Equal(t, s, got.Text)
	}
}
