package httpguard

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/revuehq/revue"
)

// Status returns the HTTP status of a code; 500 for one that is none.
func Status(code revue.Code) int {
	switch code {
	case revue.CodeInvalid:
		return http.StatusUnprocessableEntity
	case revue.CodeNotFound:
		return http.StatusNotFound
	case revue.CodeConflict:
		return http.StatusConflict
	case revue.CodeDenied:
		return http.StatusForbidden
	case revue.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case revue.CodeRateLimited:
		return http.StatusTooManyRequests
	case revue.CodeUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`

	ID        string `json:"id,omitempty"`        // what the error is about: a lot, a decision, an ask
	RequestID string `json:"requestId,omitempty"` // as in the log
}

// Problem answers with a problem document. Detail is shown to the caller: it says what to do and nothing
// of the inside.
func Problem(w http.ResponseWriter, status int, code, detail string) {
	send(w, status, code, detail, "")
}

// Fail answers with the problem document of an error: its code, its message and what it is about, never its cause.
func Fail(w http.ResponseWriter, err error) { FailWith(w, Status(revue.CodeOf(err)), err) }

// FailWith is Fail with a status that says more than the one of the code.
func FailWith(w http.ResponseWriter, status int, err error) {
	code := revue.CodeOf(err)
	if code == revue.CodeUnavailable || code == revue.CodeRateLimited {
		retryAfter(w, time.Second)
	}
	id := ""
	if e := (*revue.Error)(nil); errors.As(err, &e) {
		id = e.ID
	}
	send(w, status, string(code), revue.MessageOf(err), id)
}

// RateLimited answers 429 and says when to come back.
func RateLimited(w http.ResponseWriter, wait time.Duration, detail string) {
	retryAfter(w, wait)
	Problem(w, http.StatusTooManyRequests, string(revue.CodeRateLimited), detail)
}

// retryAfter says in whole seconds when another try makes sense, unless that was said.
func retryAfter(w http.ResponseWriter, wait time.Duration) {
	if w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	}
}

func send(w http.ResponseWriter, status int, code, detail, id string) {
	body, err := json.Marshal(problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail,
		ID: id, RequestID: w.Header().Get(HeaderRequestID),
	})
	if err != nil { // a struct of strings and a number always has a JSON form
		panic(err)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a caller that is gone needs no answer
}

// Unauthenticated answers 401 with the challenge that the status needs.
func Unauthenticated(w http.ResponseWriter, detail string) {
	if w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="revue"`)
	}
	Problem(w, http.StatusUnauthorized, CodeUnauthenticated, detail)
}

// TooLarge answers 413 for a body over the limit in bytes.
func TooLarge(w http.ResponseWriter, limit int64) {
	Problem(w, http.StatusRequestEntityTooLarge, string(revue.CodeTooLarge),
		fmt.Sprintf("the body is over the limit of %d bytes; send less", limit))
}

// TooSlow answers 408 for a body that did not arrive in time. The connection ends with it.
func TooSlow(w http.ResponseWriter) {
	w.Header().Set("Connection", "close") // what remains of the body is no next request
	Problem(w, http.StatusRequestTimeout, string(revue.CodeInvalid), "the body did not arrive in time; send the request again")
}
