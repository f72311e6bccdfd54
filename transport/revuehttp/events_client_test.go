package revuehttp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// readEvents reads to the end.
func readEvents(r io.Reader) (all []message, err error) {
	events := newEventReader(r)
	for {
		m, err := events.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}

func TestReadEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []message
	}{
		"one":                   {"id: 1\nevent: lot.opened\ndata: {}\n\n", []message{{"1", "lot.opened", []byte("{}")}}},
		"two":                   {"data: a\n\ndata: b\n\n", []message{{"", "", []byte("a")}, {"", "", []byte("b")}}},
		"lines":                 {"data: a\ndata:\ndata:  b\n\n", []message{{"", "", []byte("a\n\n b")}}},
		"no space":              {"data:a\nid:7\n\n", []message{{"7", "", []byte("a")}}},
		"comments":              {": hello\n\n:\n: x\ndata: a\n: y\n\n", []message{{"", "", []byte("a")}}},
		"other fields":          {"retry: 100\n\ncolour: red\ndata: a\nDATA: b\n\n", []message{{"", "", []byte("a")}}},
		"no data":               {"id: 1\nevent: x\n\ndata: a\n\n", []message{{"", "", []byte("a")}}},
		"empty data":            {"data\n\n", []message{{"", "", nil}}},
		"an id with NUL":        {"id: a\x00b\ndata: a\n\n", []message{{"", "", []byte("a")}}},
		"CRLF":                  {"id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []message{{"1", "", []byte("a")}, {"", "", []byte("b")}}},
		"CR":                    {"id: 1\rdata: a\r\rdata: b\r\r", []message{{"1", "", []byte("a")}, {"", "", []byte("b")}}},
		"a byte order mark":     {"\ufeffdata: a\n\n", []message{{"", "", []byte("a")}}},
		"cut in a line":         {"data: a\n\ndata: b", []message{{"", "", []byte("a")}}},
		"cut before the end":    {"data: a\n\ndata: b\n", []message{{"", "", []byte("a")}}},
		"nothing":               {"", nil},
		"a colon in the value":  {"data: {\"a\":1}\n\n", []message{{"", "", []byte(`{"a":1}`)}}},
		"a lot of empty lines":  {strings.Repeat("\n", 1000) + "data: a\n\n", []message{{"", "", []byte("a")}}},
		"much that is ignored":  {strings.Repeat(": "+strings.Repeat("x", 1000)+"\n", 3000) + "data: a\n\n", []message{{"", "", []byte("a")}}},
		"as much as is allowed": {"data:" + strings.Repeat("x", maxEvent-5) + "\n\n", []message{{"", "", bytes.Repeat([]byte("x"), maxEvent-5)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readEvents(strings.NewReader(c.text))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	for name, text := range map[string]string{
		"a line":       "data:" + strings.Repeat("x", maxEvent-4) + "\n\n",
		"many lines":   strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000),
		"many fields":  strings.Repeat("colour: red\n", 100_000),
		"one comment":  ":" + strings.Repeat("x", maxEvent),
		"an endless 1": strings.Repeat("x", 2*maxEvent),
	} {
		_, err := readEvents(strings.NewReader(text))
		require.ErrorIs(t, err, errTooLong, name)
	}
}

// What is read is bounded, does not depend on how the bytes arrive, and comes back when it is written again.
func FuzzReadEvents(f *testing.F) {
	for _, seed := range []string{
		"id: 1\nevent: lot.opened\ndata: {\"seq\":1}\n\n", "data: a\r\n\r\ndata: b\r\r: c\n\n", "\ufeffdata\n\nretry: 1\n", "data: a\ndata: b\nid: \x00\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err := readEvents(bytes.NewReader(text))
		bytewise, berr := readEvents(iotest.OneByteReader(bytes.NewReader(text)))
		require.Equal(t, whole, bytewise)
		require.Equal(t, err, berr)
		var again bytes.Buffer
		for _, m := range whole {
			require.LessOrEqual(t, len(m.data)+len(m.id)+len(m.event), maxEvent)
			require.NotContains(t, m.id+m.event, "\n")
			again.WriteString("id: " + m.id + "\nevent: " + m.event + "\n")
			for line := range bytes.SplitSeq(m.data, []byte("\n")) {
				again.WriteString("data: " + string(line) + "\n")
			}
			again.WriteString("\n")
		}
		if again.Len() > maxEvent {
			return // the longer form may be over the limit
		}
		twice, err := readEvents(&again)
		require.NoError(t, err)
		require.Len(t, twice, len(whole))
		for i := range whole {
			require.Equal(t, string(whole[i].data), string(twice[i].data))
			require.Equal(t, whole[i].id, twice[i].id)
			require.Equal(t, whole[i].event, twice[i].event)
		}
	})
}
