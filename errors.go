package revue

import "errors"

// Code classifies an [Error]. Codes are wire format: every transport maps them in one table and the
// clients map them back, so errors.Is works across processes.
type Code string

// The codes. No other value is ever sent.
const (
	CodeInvalid     Code = "invalid"      // the input is wrong; Message names the field and the remedy
	CodeNotFound    Code = "not_found"    // no such thing in this workspace, or not yours
	CodeConflict    Code = "conflict"     // somebody else decided first, or the state does not allow it
	CodeDenied      Code = "denied"       // the credential is good but may not do this
	CodeTooLarge    Code = "too_large"    // over a size limit
	CodeRateLimited Code = "rate_limited" // try again later
	CodeUnavailable Code = "unavailable"  // the store or the plane is out of reach; try again
	CodeInternal    Code = "internal"     // a fault of revue
)

// Sentinels for errors.Is. They compare by code alone.
var (
	ErrInvalid     = &Error{Code: CodeInvalid}
	ErrNotFound    = &Error{Code: CodeNotFound}
	ErrConflict    = &Error{Code: CodeConflict}
	ErrDenied      = &Error{Code: CodeDenied}
	ErrTooLarge    = &Error{Code: CodeTooLarge}
	ErrRateLimited = &Error{Code: CodeRateLimited}
	ErrUnavailable = &Error{Code: CodeUnavailable}
	ErrInternal    = &Error{Code: CodeInternal}
)

// Error is the one error type of revue.
type Error struct {
	Code    Code
	ID      string // the thing the error is about, when there is one: a lot, a decision, an ask
	Message string // safe to show to anyone who made the call; says what to do
	Err     error  // the cause, for the log; never shown to a caller
}

// Error returns the message and, for the log, its cause.
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" {
		msg = string(e.Code)
	}
	if e.Err != nil {
		return msg + ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// CodeOf returns the code of err: that of the first *Error in its chain, CodeInternal for any other
// error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// MessageOf returns what may be shown of err: the Message of the first *Error in its chain, else a
// fixed sentence that tells nothing of the inside.
func MessageOf(err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		if e.Message != "" {
			return e.Message
		}
		return string(e.Code)
	}
	return "revue failed to do this; the log of the server says why"
}

func invalid(field, problem string) *Error {
	return &Error{Code: CodeInvalid, Message: field + ": " + problem}
}
