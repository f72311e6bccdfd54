package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// Request is one that a tab made.
type Request struct {
	URL    string
	Method string
	Type   string // Document, Stylesheet, Script, Fetch, EventSource …
	Status int64  // 0: no response yet
	Bytes  int64  // that came over the wire, heads included, once it has ended
}

// observe is called for each event of the tab, on the goroutine that reads them.
func (t *Tab) observe(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" || ev.Type == "assert" {
			t.fault("console." + string(ev.Type) + ": " + consoleText(ev.Args))
		}
	case *runtime.EventExceptionThrown:
		if d := ev.ExceptionDetails; d != nil {
			text := d.Text
			if d.Exception != nil {
				text += " " + d.Exception.Description
			}
			t.fault(fmt.Sprintf("uncaught: %s (%s:%d)", text, d.URL, d.LineNumber+1))
		}
	case *log.EventEntryAdded:
		if e := ev.Entry; e != nil && (e.Level == "error" || e.Level == "warning") {
			t.fault(fmt.Sprintf("%s %s: %s (%s)", e.Source, e.Level, e.Text, e.URL))
		}
	case *page.EventJavascriptDialogOpening:
		t.fault(fmt.Sprintf("dialog %s: %q", ev.Type, ev.Message))
		select {
		case t.dialogs <- struct{}{}:
		default:
		}
	case *page.EventWindowOpen:
		t.fault("a window was opened: " + ev.URL)
	case *network.EventRequestWillBeSent:
		t.requested(ev)
	case *network.EventResponseReceived:
		t.request(ev.RequestID, func(r *Request) {
			if ev.Response != nil {
				r.Status = ev.Response.Status
				r.Bytes = int64(ev.Response.EncodedDataLength)
			}
		})
	case *network.EventLoadingFinished:
		t.request(ev.RequestID, func(r *Request) { r.Bytes = int64(ev.EncodedDataLength) })
	}
}

func (t *Tab) requested(ev *network.EventRequestWillBeSent) {
	if ev.Request == nil {
		return
	}
	if !t.profile.home(ev.Request.URL) {
		t.fault("a request elsewhere: " + ev.Request.Method + " " + ev.Request.URL)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = append(t.requests, Request{URL: ev.Request.URL, Method: ev.Request.Method, Type: string(ev.Type)})
	t.byID[ev.RequestID] = len(t.requests) - 1
}

func (t *Tab) request(id network.RequestID, change func(*Request)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.byID[id]; ok {
		change(&t.requests[i])
	}
}

// home reports whether a URL is of the place that the profile is for, or of none.
func (p *Profile) home(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return strings.HasPrefix(raw, "data:")
	}
	switch u.Scheme {
	case "data", "blob", "about":
		return true
	default:
		return u.Scheme+"://"+u.Host == p.origin
	}
}

func consoleText(args []*runtime.RemoteObject) string {
	var parts []string
	for _, a := range args {
		if a.Description != "" {
			parts = append(parts, a.Description)
		} else {
			parts = append(parts, string(a.Value))
		}
	}
	return strings.Join(parts, " ")
}

func (t *Tab) fault(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, text)
}

// Allow says that faults which match are meant by the test: those so far, and those to come.
func (t *Tab) Allow(pattern string) {
	t.allowed = append(t.allowed, regexp.MustCompile(pattern))
}

// Faults returns what went wrong in the tab so far, but for what is allowed.
func (t *Tab) Faults() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.faults), func(f string) bool {
		return slices.ContainsFunc(t.allowed, func(re *regexp.Regexp) bool { return re.MatchString(f) })
	})
}

// Requests returns the requests of the tab so far, in order.
func (t *Tab) Requests() []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.requests)
}

// ForgetRequests begins the list of requests anew.
func (t *Tab) ForgetRequests() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests, t.byID = nil, map[network.RequestID]int{}
}
