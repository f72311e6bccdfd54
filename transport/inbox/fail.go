package inbox

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// errSignIn says that a page wants a session.
type errSignIn struct{}

func (errSignIn) Error() string { return "sign in" }

func errNoPage() error {
	return &revue.Error{Code: revue.CodeNotFound, Message: "there is no page at this address"}
}

// unreadable is what a form is that could not be read.
func unreadable(err error) error {
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return &revue.Error{Code: revue.CodeTooLarge, Message: "this form is too large"}
	}
	return &revue.Error{Code: revue.CodeInvalid, Message: "this form can't be read; load the page again and try again", Err: err}
}

// errorPage is what the page of an error shows.
type errorPage struct {
	Heading string
	Message string
}

// fail answers a request that came to nothing.
func (s *Server) fail(ctx context.Context, v *visit, err error) {
	if errors.As(err, &errSignIn{}) {
		if v.r.URL.Path == "/live" { // no page to be led anywhere: what listens gives up, and loads its page again
			v.w.WriteHeader(http.StatusNoContent)
			return
		}
		to := "/login"
		if v.r.Method == http.MethodGet && v.r.URL.Path != "/" {
			to += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
		}
		http.Redirect(v.w, v.r, to, http.StatusSeeOther)
		return
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return // the browser is gone
	}
	code := revue.CodeOf(err)
	status, heading := httpguard.Status(code), "Something went wrong"
	switch code {
	case revue.CodeInvalid:
		heading = "That is not possible"
	case revue.CodeNotFound:
		heading = "Not found"
	case revue.CodeConflict:
		heading = "Somebody was first"
	case revue.CodeDenied:
		heading = "Not allowed"
	case revue.CodeTooLarge:
		heading = "Too large"
	case revue.CodeRateLimited:
		heading = "Too many requests"
	case revue.CodeUnavailable:
		heading = "Not now"
	default:
		s.log.ErrorContext(ctx, "a page of the inbox failed", "route", v.r.Pattern, "err", err)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		v.w.Header().Set("Retry-After", "5")
	}
	if v.reviewer != nil && v.board == nil && status != http.StatusServiceUnavailable {
		v.board, _ = s.boards.current(ctx, v.human.Workspace, v.reviewer) // without it the page names no number
	}
	pg := page{Title: heading, Data: errorPage{Heading: heading, Message: message(err)}}
	if rerr := s.render(v, status, "error", pg); rerr != nil { //nolint:contextcheck // the context is that of the request
		s.log.ErrorContext(ctx, "the page of an error failed", "err", rerr)
	}
}

// message is what a human may read of an error.
func message(err error) string {
	var e *revue.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return "the plane could not do this; try again"
}
