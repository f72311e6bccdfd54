package revuemcp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

func TestReadOptions(t *testing.T) {
	plain := func(values ...string) []revue.Option {
		var out []revue.Option
		for _, v := range values {
			out = append(out, revue.Option{Value: v, Label: v})
		}
		return out
	}
	full := []revue.Option{{Value: "b", Label: "Blue", Consequence: "sea"}, {Value: "r", Label: "Red"}}
	for _, tt := range []struct {
		name, raw string
		want      []revue.Option
		problem   string
	}{
		{name: "absent", raw: ``},
		{name: "null", raw: `null`},
		{name: "empty array", raw: `[]`},
		{name: "empty string", raw: `""`},
		{name: "strings", raw: `["a","b"]`, want: plain("a", "b")},
		{name: "byte for byte", raw: `[" a ","a, b","\t"]`, want: plain(" a ", "a, b", "\t")},
		{name: "objects", raw: `[{"label":"Blue","value":"b","consequence":"sea"},{"label":"Red","value":"r"}]`, want: full},
		{name: "label alone", raw: `[{"label":"a"}]`, want: plain("a")},
		{name: "value alone", raw: `[{"value":"a","label":null}]`, want: plain("a")},
		{name: "blank value", raw: `[{"value":"","label":"a"}]`, want: plain("a")},
		{name: "unknown fields", raw: `[{"value":"a","label":"a","color":1}]`, want: plain("a")},
		{name: "numbers and booleans", raw: `[1, 2.50, true, {"value": 3}]`, want: plain("1", "2.50", "true", "3")},
		{name: "mixed", raw: `["a",{"value":"b"}]`, want: plain("a", "b")},
		{name: "text of null", raw: `["null"]`, want: plain("null")},
		{name: "objects as strings", raw: `["{\"label\":\"Blue\",\"value\":\"b\",\"consequence\":\"sea\"}",{"label":"Red","value":"r"}]`, want: full},
		{name: "json string of strings", raw: `"[\"a\",\"b\"]"`, want: plain("a", "b")},
		{name: "json string of objects", raw: `"[{\"label\":\"Blue\",\"value\":\"b\",\"consequence\":\"sea\"},{\"label\":\"Red\",\"value\":\"r\"}]"`, want: full},
		{name: "json string twice", raw: `"\"[\\\"a\\\",\\\"b\\\"]\""`, want: plain("a", "b")},
		{name: "one object", raw: `{"value":"a"}`, want: plain("a")},
		{name: "commas", raw: `"a, b,c,"`, want: plain("a", "b", "c")},
		{name: "lines", raw: `"a, or b\nc\n"`, want: plain("a, or b", "c")},
		{name: "one text", raw: `"a"`, want: plain("a")},
		{name: "one number", raw: `7`, want: plain("7")},
		{name: "typographic", raw: `["“ja”","いいえ","👩‍👩‍👧"]`, want: plain("“ja”", "いいえ", "👩‍👩‍👧")},
		{name: "broken json", raw: `"[\"a\", \"b\""`, problem: "options: looks like JSON"},
		{name: "object of neither", raw: `["a",{"color":"b"}]`, problem: "options[1]: has neither a value nor a label"},
		{name: "null alone", raw: `[null]`, problem: "options[0]: is null"},
		{name: "null in it", raw: `["a",null,"b"]`, problem: "options[1]: is null"},
		{name: "json string with null", raw: `"[\"a\", null]"`, problem: "options[1]: is null"},
		{name: "nested array", raw: `[["a"]]`, problem: "options[0]: must be a string or an object"},
		{name: "object in a field", raw: `[{"value":{}}]`, problem: "options[0].value: must be a string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := arguments{"options": json.RawMessage(tt.raw)}.options("options")
			if tt.problem != "" {
				require.ErrorIs(t, err, revue.ErrInvalid)
				require.Contains(t, err.Error(), tt.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestReadTexts(t *testing.T) {
	for raw, want := range map[string][]string{
		`null`:                 nil,
		`"null"`:               {"null"},
		`[]`:                   nil,
		`["a"," b ","",null]`:  {"a", " b "},
		`"[\"a\",\"b\"]"`:      {"a", "b"},
		`"a, b , ,c"`:          {"a", "b", "c"},
		`"a, b\nc"`:            {"a, b", "c"},
		`["a,b"]`:              {"a,b"},
		`[1]`:                  {"1"},
		`"src/[id]/page.tsx"`:  {"src/[id]/page.tsx"},
		`["[id].ts","{x}.ts"]`: {"[id].ts", "{x}.ts"},
	} {
		got, err := arguments{"files": json.RawMessage(raw)}.texts("files")
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
	for _, raw := range []string{`[{}]`, `[["a"]]`, `{"a":1}`, `"[id"`} {
		_, err := arguments{"files": json.RawMessage(raw)}.texts("files")
		require.ErrorIs(t, err, revue.ErrInvalid, raw)
	}
}

func TestReadAffected(t *testing.T) {
	want := []revue.Affected{{Label: "a", Meta: "no PR, 3 weeks"}, {Label: "b, c"}}
	for _, raw := range []string{
		`[{"label":"a","meta":"no PR, 3 weeks"},{"label":"b, c"}]`,
		`[{"label":"a","meta":"no PR, 3 weeks","x":1},"b, c"]`,
		`"[{\"label\":\"a\",\"meta\":\"no PR, 3 weeks\"},\"b, c\"]"`,
	} {
		got, err := arguments{"affected": json.RawMessage(raw)}.affected("affected")
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
	got, err := arguments{"affected": json.RawMessage(`"a, b\nc"`)}.affected("affected")
	require.NoError(t, err)
	require.Equal(t, []revue.Affected{{Label: "a, b"}, {Label: "c"}}, got)
	_, err = arguments{"affected": json.RawMessage(`[{"label":["a"]}]`)}.affected("affected")
	require.ErrorContains(t, err, "affected[0].label: must be a string")
}

func TestReadSeconds(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		``:         DefaultWait,
		`null`:     DefaultWait,
		`0`:        0,
		`-3`:       0,
		`"-3"`:     0,
		`1.5`:      1500 * time.Millisecond,
		`" 20 "`:   20 * time.Second,
		`"2e1"`:    20 * time.Second,
		`55`:       MaxWait,
		`56`:       MaxWait,
		`1e9`:      MaxWait,
		`1e400`:    MaxWait,
		`"1e400"`:  MaxWait,
		`-1e400`:   0,
		`1e-400`:   0,
		`0.000001`: time.Microsecond,
	} {
		got, err := arguments{"waitSeconds": json.RawMessage(raw)}.seconds("waitSeconds", DefaultWait, 0, MaxWait)
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
	for _, raw := range []string{`""`, `" "`, `"NaN"`, `"inf"`, `"Infinity"`, `"50s"`, `"0x10"`, `"1_0"`, `true`, `[]`, `{}`, `"--1"`, `"e"`} {
		_, err := arguments{"waitSeconds": json.RawMessage(raw)}.seconds("waitSeconds", DefaultWait, 0, MaxWait)
		require.ErrorIs(t, err, revue.ErrInvalid, raw)
		require.Equal(t, "waitSeconds: must be a number", revue.MessageOf(err))
	}
}

func TestReadCount(t *testing.T) {
	for raw, want := range map[string]int{`null`: 10, `0`: 1, `-5`: 1, `3.9`: 3, `"7"`: 7, `1e9`: 100, `1e400`: 100} {
		got, err := arguments{"limit": json.RawMessage(raw)}.count("limit", 10, 1, 100)
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
}

func TestReadArguments(t *testing.T) {
	for _, raw := range []string{``, `null`, ` {} `} {
		args, err := readArguments(json.RawMessage(raw))
		require.NoError(t, err)
		require.Empty(t, args)
	}
	args, err := readArguments(json.RawMessage(`"{\"question\":\"a?\"}"`))
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(`"a?"`), args["question"])

	for _, raw := range []string{`[]`, `1`, `"x"`, `"null"`} {
		_, err := readArguments(json.RawMessage(raw))
		require.ErrorContains(t, err, "arguments: must be a JSON object", raw)
	}
	_, err = readArguments(json.RawMessage("{\"question\":\"a\xff?\"}"))
	require.ErrorContains(t, err, "not valid UTF-8")
	for _, half := range []string{`\ud800`, `\udc00`, `\ud800x`, `\ud800\n`, `\ud800\ud800`, `\uD83Dx`} {
		_, err = readArguments(json.RawMessage(`{"question":"` + half + `"}`))
		require.ErrorIs(t, err, revue.ErrInvalid, half)
	}
	for _, whole := range []string{`\ud83d\ude00`, `\\ud800`, `\u00e9`, `\"\\`, `x\\\\udc00`} {
		_, err = readArguments(json.RawMessage(`{"question":"` + whole + `"}`))
		require.NoError(t, err, whole)
	}
}

func TestReadAskNamesTheField(t *testing.T) {
	for raw, problem := range map[string]string{
		`{}`:                                     "question: is missing or blank; send it as a string",
		`{"question":" \n"}`:                     "question: is missing or blank; send it as a string",
		`{"question":1}`:                         "question: must be a string",
		`{"question":"a?","context":{}}`:         "context: must be a string",
		`{"question":"a?","stream":1}`:           "stream: must be a string",
		`{"question":"a?","recommendation":[]}`:  "recommendation: must be a string: the value of one option",
		`{"question":"a?","waitSeconds":"soon"}`: "waitSeconds: must be a number",
	} {
		args, err := readArguments(json.RawMessage(raw))
		require.NoError(t, err)
		_, err = readAsk(args)
		require.ErrorIs(t, err, revue.ErrInvalid, raw)
		require.Equal(t, problem, revue.MessageOf(err), raw)
	}
	for raw, problem := range map[string]string{
		`{"context":"c"}`: "title: is missing or blank; send it as a string",
		`{"title":"t"}`:   "context: is missing or blank; send it as a string",
		`{"title":"t","context":"c","expiresInSeconds":"1h"}`: "expiresInSeconds: must be a number",
	} {
		args, err := readArguments(json.RawMessage(raw))
		require.NoError(t, err)
		_, err = readApproval(args)
		require.Equal(t, problem, revue.MessageOf(err), raw)
	}
}

func TestReadApprovalExpiry(t *testing.T) {
	for raw, want := range map[string]time.Duration{
		`null`: revue.DefaultExpiry, `0`: time.Second, `-1`: time.Second, `"60"`: time.Minute, `1e9`: revue.MaxExpiry,
	} {
		args, err := readArguments(json.RawMessage(`{"title":"t","context":"c","expiresInSeconds":` + raw + `}`))
		require.NoError(t, err)
		ask, err := readApproval(args)
		require.NoError(t, err)
		require.Equal(t, want, ask.Expires, raw)
		require.Equal(t, revue.MaxWait, ask.Wait)
		require.Equal(t, revue.KindApproval, ask.Kind)
	}
}

// FuzzReadAsk checks that whatever a model sends is either an ask or an error that names a field, and
// that what is read stays what was sent.
func FuzzReadAsk(f *testing.F) {
	for _, seed := range []string{
		`{"question":"Blue or red?","options":["blue","red"]}`,
		`{"question":"a?","options":"[{\"label\":\"Blue\",\"value\":\"b\"}]","concepts":"ui, api","waitSeconds":"5"}`,
		`{"question":"a?","options":[{"value":1},"x",null],"files":["a"],"waitSeconds":1e400}`,
		`"{\"question\":\"a?\"}"`,
		`{"question":"\ud800","options":"{"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, err := readArguments(raw)
		if err == nil {
			var ask revue.Ask
			ask, err = readAsk(args)
			if err == nil {
				require.NotEmpty(t, strings.TrimSpace(ask.Question))
				require.GreaterOrEqual(t, ask.Wait, time.Duration(0))
				require.LessOrEqual(t, ask.Wait, MaxWait)
				for _, o := range ask.Options {
					require.True(t, utf8.ValidString(o.Value))
					require.False(t, o.Value == "" && o.Label != "", "a label stands for a missing value")
				}
				return
			}
		}
		require.ErrorIs(t, err, revue.ErrInvalid)
		field, _, ok := strings.Cut(revue.MessageOf(err), ": ")
		require.True(t, ok && field != "", "the message names no field: %v", err)
	})
}

// FuzzItems checks that a list comes out the same however it was spelled.
func FuzzItems(f *testing.F) {
	f.Add("a", "b, c")
	f.Add("[x", "{}")
	f.Add("", "\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		array, err := json.Marshal([]string{a, b})
		require.NoError(t, err)
		inText, err := json.Marshal(string(array))
		require.NoError(t, err)
		want, err := arguments{"x": array}.options("x")
		require.NoError(t, err)
		got, err := arguments{"x": inText}.options("x")
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Len(t, got, 2)
	})
}

// FuzzNumber checks that a number means the same as a number and as text, and stays within its range.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"1", "-0", "1e400", "0.1", "5e-324", "1E5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		asText := arguments{"n": quote(s)}
		got, err := asText.seconds("n", time.Second, 0, MaxWait)
		if err != nil {
			require.ErrorIs(t, err, revue.ErrInvalid)
			return
		}
		require.GreaterOrEqual(t, got, time.Duration(0))
		require.LessOrEqual(t, got, MaxWait)
		if json.Valid([]byte(s)) {
			same, err := arguments{"n": json.RawMessage(s)}.seconds("n", time.Second, 0, MaxWait)
			require.NoError(t, err)
			require.Equal(t, got, same)
		}
	})
}
