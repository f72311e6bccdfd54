package revue

import "time"

// NoticeKind is what a notice tells.
type NoticeKind string

// The kinds of notices.
const (
	NoticeAsked     NoticeKind = "asked"     // a lot was made and waits for a human
	NoticeAnswered  NoticeKind = "answered"  // a lot was answered
	NoticeDismissed NoticeKind = "dismissed" // a lot was dismissed
	NoticeExpired   NoticeKind = "expired"   // an approval ran out
	NoticeReopened  NoticeKind = "reopened"  // a dismissal was taken back: it waits again
)

// Notice tells a human of one event. All text in Lot is an agent's and hostile until escaped.
type Notice struct {
	ID        string     `json:"id"` // the same each time this notice is tried
	Kind      NoticeKind `json:"kind"`
	Workspace string     `json:"workspace"`
	Seq       Seq        `json:"seq"` // the event it comes from
	Lot       Lot        `json:"lot"` // as it is now, with its asks
	At        time.Time  `json:"at"`
}
