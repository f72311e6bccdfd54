// Package embedhttp asks any endpoint that speaks the OpenAI form of /v1/embeddings for vectors: a hosted one, or one
// on the same machine.
//
//	e, err := embedhttp.New("http://127.0.0.1:11434/v1/embeddings", "nomic-embed-text", 768, nil)
//	m := memory.New(&memory.Options{Embedder: e})
//
// The endpoint is sent the questions as agents asked them, and nothing else of a decision.
package embedhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/revuehq/revue"
)

// Options changes how an [Embedder] works. The zero value, and nil, mean the defaults.
type Options struct {
	// Key is sent as a bearer token, in a header and nowhere else. It needs https, or a host on this machine.
	Key string
	// Reduce asks the model for vectors of the wanted length. Only some models can; others have one length.
	Reduce bool
	// Batch is how many texts are sent in one call; more take several, one after the other. Default 64.
	Batch int
	// Client makes the calls. Its redirects are not followed. Default: one of its own.
	Client *http.Client
}

// Limits.
const (
	defaultBatch = 64
	maxDim       = 1 << 14

	// A number takes about 24 bytes, with a margin.
	bytesPerNumber = 40
	bytesPerAnswer = 1 << 14
)

// Embedder is the client of one endpoint and model. It is safe for concurrent use.
type Embedder struct {
	endpoint string
	model    string
	dim      int
	key      string
	reduce   bool
	batch    int
	client   *http.Client
}

// New returns an Embedder for the whole address of an endpoint, a model of it and the length of its vectors.
// What can't work is CodeInvalid.
func New(endpoint, model string, dim int, opts *Options) (*Embedder, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, invalid("endpoint: give the whole http or https address, such as https://host/v1/embeddings")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, invalid("endpoint: leave out user, password, query and fragment; a key goes into Options.Key")
	case strings.TrimSpace(model) == "":
		return nil, invalid("model: name one")
	case dim < 1 || dim > maxDim:
		return nil, invalid(fmt.Sprintf("dim: give the length of the model's vectors, 1 to %d", maxDim))
	case strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, invalid("Key: it has white space or other characters that no header may have")
	case o.Key != "" && u.Scheme != "https" && !local(u.Hostname()):
		return nil, invalid("endpoint: a key is sent over https alone, or to this machine")
	}
	e := &Embedder{endpoint: u.String(), model: model, dim: dim, key: o.Key, reduce: o.Reduce, batch: defaultBatch}
	if o.Batch > 0 {
		e.batch = o.Batch
	}
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e.client = &client
	return e, nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func invalid(msg string) error { return &revue.Error{Code: revue.CodeInvalid, Message: msg} }

// ID names the endpoint, the model and the length.
func (e *Embedder) ID() string { return fmt.Sprintf("%s %s %d", e.endpoint, e.model, e.dim) }

// Dim is the length of the vectors.
func (e *Embedder) Dim() int { return e.dim }

// Embed returns one vector for each text, in order. An endpoint that refuses for now is CodeRateLimited, and anything
// else that goes wrong is CodeUnavailable; neither holds the key or what the endpoint wrote. When ctx ends it
// returns ctx.Err().
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := min(e.batch, len(texts))
		got, err := e.call(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		out, texts = append(out, got...), texts[n:]
	}
	return out, nil
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Encoding   string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

type response struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

func (e *Embedder) call(ctx context.Context, texts []string) ([][]float32, error) {
	r := request{Model: e.model, Input: texts, Encoding: "float"}
	if e.reduce {
		r.Dimensions = e.dim
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, e.failed("it can't be asked", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, e.failed("it can't be asked", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, e.ended(ctx, "it can't be reached", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return nil, &revue.Error{Code: revue.CodeRateLimited, Message: "the embedding endpoint takes no more calls for now"}
	case resp.StatusCode != http.StatusOK:
		return nil, e.failed(fmt.Sprintf("it answered with status %d", resp.StatusCode), nil)
	}
	most := int64(bytesPerAnswer + len(texts)*e.dim*bytesPerNumber)
	raw, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, e.ended(ctx, "its answer broke off", err)
	}
	if int64(len(raw)) > most {
		return nil, e.failed("its answer is too large", nil)
	}
	return e.read(raw, len(texts))
}

// read takes the vectors out of an answer, which may list them in any order.
func (e *Embedder) read(raw []byte, n int) ([][]float32, error) {
	var r response
	if json.Unmarshal(raw, &r) != nil { // its error would quote the answer
		return nil, e.failed("its answer is no list of vectors", nil)
	}
	if len(r.Data) != n {
		return nil, e.failed(fmt.Sprintf("it returned %d vectors for %d texts", len(r.Data), n), nil)
	}
	out := make([][]float32, n)
	for _, d := range r.Data {
		switch {
		case d.Index < 0 || d.Index >= n || out[d.Index] != nil:
			return nil, e.failed("its vectors are not numbered one by one", nil)
		case len(d.Embedding) != e.dim:
			return nil, e.failed(fmt.Sprintf("a vector has %d numbers instead of %d", len(d.Embedding), e.dim), nil)
		}
		out[d.Index] = d.Embedding
	}
	return out, nil
}

// ended is ctx.Err() where that is why a call failed.
func (e *Embedder) ended(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return e.failed(what, err)
}

func (e *Embedder) failed(what string, err error) error {
	if err != nil && e.key != "" && strings.Contains(err.Error(), e.key) {
		err = errors.New("the cause is left out, since it quotes the key")
	}
	return &revue.Error{Code: revue.CodeUnavailable, Message: "the embedding endpoint is of no help: " + what, Err: err}
}
