package embedhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/memory/embedhttp"
)

var _ memory.Embedder = (*embedhttp.Embedder)(nil)

const secret = "sk-a-key-nobody-may-see"

type asked struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Encoding   string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions"`
}

// answer lists vectors backwards, as an endpoint may.
func answer(in asked) string {
	var items []string
	for i, text := range in.Input {
		items = append(items, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,1,0.5]}`, i, len(text)))
	}
	slices.Reverse(items)
	return `{"object":"list","model":"m","data":[` + strings.Join(items, ",") + `],"usage":{"total_tokens":3}}`
}

// fake is an endpoint; handle is called with what was asked.
func fake(t *testing.T, handle func(http.ResponseWriter, *http.Request, asked)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in asked
		require.NoError(t, json.NewDecoder(r.Body).Decode(&in))
		handle(w, r, in)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/embeddings"
}

func TestEmbed(t *testing.T) {
	var calls []asked
	url := fake(t, func(w http.ResponseWriter, r *http.Request, in asked) {
		calls = append(calls, in)
		require.Equal(t, "Bearer "+secret, r.Header.Get("Authorization"))
		require.Equal(t, "/v1/embeddings", r.URL.String())
		require.Equal(t, http.MethodPost, r.Method)
		_, _ = io.WriteString(w, answer(in))
	})
	e, err := embedhttp.New(url, "m", 3, &embedhttp.Options{Key: secret, Batch: 2, Reduce: true})
	require.NoError(t, err)
	require.Equal(t, 3, e.Dim())
	require.NotContains(t, e.ID(), secret)
	got, err := e.Embed(t.Context(), []string{"a", "bb", "ccc"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 1, 0.5}, {2, 1, 0.5}, {3, 1, 0.5}}, got)
	require.Equal(t, []asked{{"m", []string{"a", "bb"}, "float", 3}, {"m", []string{"ccc"}, "float", 3}}, calls)

	none, err := e.Embed(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestEmbedFailures(t *testing.T) {
	for name, c := range map[string]struct {
		handle func(w http.ResponseWriter, r *http.Request, in asked)
		code   revue.Code
		says   string
	}{
		"429": {func(w http.ResponseWriter, _ *http.Request, _ asked) {
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(http.StatusTooManyRequests)
		}, revue.CodeRateLimited, "no more calls"},
		"401 that quotes the key": {func(w http.ResponseWriter, r *http.Request, _ asked) {
			w.WriteHeader(http.StatusUnauthorized)
			require.Equal(t, "Bearer "+secret, r.Header.Get("Authorization"))
			_, _ = io.WriteString(w, "no such key: "+secret)
		}, revue.CodeUnavailable, "status 401"},
		"500": {func(w http.ResponseWriter, _ *http.Request, _ asked) { w.WriteHeader(http.StatusInternalServerError) }, revue.CodeUnavailable, "status 500"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request, _ asked) {
			http.Redirect(w, r, "http://127.0.0.1:1/"+secret, http.StatusTemporaryRedirect)
		}, revue.CodeUnavailable, "status 307"},
		"no JSON":          {text("<html>" + secret), revue.CodeUnavailable, "no list of vectors"},
		"another form":     {text(`{"data":[{"index":0,"embedding":"AAAA"}]}`), revue.CodeUnavailable, "no list of vectors"},
		"no number":        {text(`{"data":[{"index":0,"embedding":[NaN,1,2]}]}`), revue.CodeUnavailable, "no list of vectors"},
		"too great":        {text(`{"data":[{"index":0,"embedding":[1e99,1,2]}]}`), revue.CodeUnavailable, "no list of vectors"},
		"cut":              {text(`{"data":[{"index":0,"embedding":[1,`), revue.CodeUnavailable, "no list of vectors"},
		"none":             {text(`{"data":[]}`), revue.CodeUnavailable, "0 vectors for 1"},
		"two":              {text(`{"data":[{"index":0,"embedding":[1,2,3]},{"index":1,"embedding":[1,2,3]}]}`), revue.CodeUnavailable, "2 vectors for 1"},
		"a number outside": {text(`{"data":[{"index":7,"embedding":[1,2,3]}]}`), revue.CodeUnavailable, "one by one"},
		"below":            {text(`{"data":[{"index":-1,"embedding":[1,2,3]}]}`), revue.CodeUnavailable, "one by one"},
		"short":            {text(`{"data":[{"index":0,"embedding":[1,2]}]}`), revue.CodeUnavailable, "2 numbers instead of 3"},
		"huge":             {text(strings.Repeat(" ", 1<<20) + `{"data":[{"index":0,"embedding":[1,2,3]}]}`), revue.CodeUnavailable, "too large"},
		"broken off": {func(w http.ResponseWriter, _ *http.Request, _ asked) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		}, revue.CodeUnavailable, "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := embedhttp.New(fake(t, c.handle), "m", 3, &embedhttp.Options{Key: secret})
			require.NoError(t, err)
			got, err := e.Embed(t.Context(), []string{"a"})
			require.Nil(t, got)
			require.Equal(t, c.code, revue.CodeOf(err))
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), secret)
		})
	}
}

func text(s string) func(http.ResponseWriter, *http.Request, asked) {
	return func(w http.ResponseWriter, _ *http.Request, _ asked) { _, _ = io.WriteString(w, s) }
}

func TestEmbedIsSlow(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	url := fake(t, func(_ http.ResponseWriter, r *http.Request, _ asked) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	e, err := embedhttp.New(url, "m", 3, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = e.Embed(ctx, []string{"a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

type brokenTransport struct{ err error }

func (b brokenTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

func TestEmbedIsOutOfReach(t *testing.T) {
	for _, cause := range []error{errors.New("no route"), errors.New("proxy refused Bearer " + secret)} {
		e, err := embedhttp.New("https://embeddings.example/v1/embeddings", "m", 3, &embedhttp.Options{Key: secret, Client: &http.Client{Transport: brokenTransport{cause}}})
		require.NoError(t, err)
		_, err = e.Embed(t.Context(), []string{"a"})
		require.ErrorIs(t, err, revue.ErrUnavailable)
		require.NotContains(t, err.Error(), secret)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		url, model string
		dim        int
		key, says  string
	}{
		{"", "m", 3, "", "endpoint"},
		{"host/v1/embeddings", "m", 3, "", "endpoint"},
		{"ftp://host/v1", "m", 3, "", "endpoint"},
		{"https://u:" + secret + "@host/v1", "m", 3, "", "endpoint"},
		{"https://host/v1?key=" + secret, "m", 3, "", "endpoint"},
		{"http://host/v1", "m", 3, secret, "https alone"},
		{"https://host/v1", " ", 3, "", "model"},
		{"https://host/v1", "m", 0, "", "dim"},
		{"https://host/v1", "m", 1 << 20, "", "dim"},
		{"https://host/v1", "m", 3, secret + "\n", "Key"},
	} {
		_, err := embedhttp.New(c.url, c.model, c.dim, &embedhttp.Options{Key: c.key})
		require.ErrorIs(t, err, revue.ErrInvalid, c.url)
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, err.Error(), secret)
	}
	for _, url := range []string{"http://127.0.0.1:1/v1", "http://localhost/v1", "http://[::1]/v1", "https://host/v1"} {
		_, err := embedhttp.New(url, "m", 3, &embedhttp.Options{Key: secret})
		require.NoError(t, err, url)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(answer(asked{Input: []string{"a"}})))
	f.Add([]byte(`{"data":[{"index":0,"embedding":[1,2]}]}`))
	f.Add([]byte(`{"data":null}`))
	body := []byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	f.Cleanup(s.Close)
	e, err := embedhttp.New(s.URL, "m", 3, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, raw []byte) {
		body = raw
		got, err := e.Embed(t.Context(), []string{"a"})
		if err != nil {
			require.Equal(t, revue.CodeUnavailable, revue.CodeOf(err))
			return
		}
		require.Len(t, got, 1)
		require.Len(t, got[0], 3)
	})
}
