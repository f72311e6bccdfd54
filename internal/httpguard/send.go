package httpguard

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// compressFrom is the size in bytes from which a body is worth compressing.
const compressFrom = 1 << 10

// writeIn is how long a client may take to take in an answer that is sent whole.
const writeIn = 30 * time.Second

// Send answers with a whole body, compressed where the request accepts that and the body is large enough, and flushes
// it. It returns the first failure of a write: nil means that the answer is on its way. A client that takes in nothing
// for too long is a failure too, so that it holds nothing for good.
func Send(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Add("Vary", "Accept-Encoding")
	if len(body) >= compressFrom && AcceptsGzip(r.Header) {
		body = compressed(body)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(writeIn))        // a writer without deadlines is not one of a network
	defer func() { _ = conn.SetWriteDeadline(time.Time{}) }() // the connection may be used again
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := w.Write(body); err != nil {
		return err
	}
	return flush(w)
}

// compressors are kept for the next answer: making one costs more than compressing with it.
var compressors = sync.Pool{New: func() any { //nolint:gochecknoglobals // a pool is of use to all or to none
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil { // the level is a good one
		panic(err)
	}
	return z
}}

func compressed(body []byte) []byte {
	var buf bytes.Buffer
	z, ok := compressors.Get().(*gzip.Writer)
	if !ok {
		panic("a pool of compressors has something else")
	}
	defer compressors.Put(z)
	z.Reset(&buf)
	_, err := z.Write(body)
	if err == nil {
		err = z.Close()
	}
	if err != nil { // a buffer takes everything
		panic(err)
	}
	return buf.Bytes()
}

// AcceptsGzip reports whether a client would rather have gzip than the plain body (RFC 9110, section 12.5.3).
func AcceptsGzip(h http.Header) bool {
	gzipQ, identityQ, anyQ := -1, -1, -1
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, params, _ := strings.Cut(part, ";")
		q, ok := quality(params)
		if !ok {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			gzipQ = max(gzipQ, q)
		case "identity":
			identityQ = max(identityQ, q)
		case "*":
			anyQ = max(anyQ, q)
		}
	}
	if gzipQ < 0 {
		gzipQ = anyQ
	}
	return gzipQ > 0 && gzipQ >= identityQ
}

// quality reads the weight among parameters in thousandths: 1000 where none is given.
func quality(params string) (int, bool) {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		whole, fraction, _ := strings.Cut(strings.TrimSpace(value), ".")
		if whole != "0" && whole != "1" || len(fraction) > 3 || strings.Trim(fraction, "0123456789") != "" {
			return 0, false
		}
		n, err := strconv.Atoi(whole + (fraction + "000")[:3])
		return n, err == nil && n <= 1000
	}
	return 1000, true
}

// Accepts reports whether the Accept header names a media type itself, with a weight over 0. Ranges such as */*
// don't count.
func Accepts(h http.Header, mediaType string) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		if q, ok := quality(params); ok && q > 0 && strings.EqualFold(strings.TrimSpace(name), mediaType) {
			return true
		}
	}
	return false
}
