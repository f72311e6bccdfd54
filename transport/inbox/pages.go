package inbox

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
	"github.com/revuehq/revue/internal/term"
)

//go:embed all:templates static
var files embed.FS

// page is what the frame around every page shows. Its Data is the page's own.
type page struct {
	Title   string
	Nav     string // which entry of the navigation is the current one: inbox, history, memory, overview, settings
	Open    int    // how many lots wait; render fills it in
	More    bool   // there are more than that
	Live    bool   // the page is kept current; render fills it in
	Seq     int64  // the event that the page reflects at least; as well
	Opened  int64  // the event that opened the newest lot of a stream that is not muted; as well
	Session string // tells sessions apart, and nothing else of them; as well
	Still   bool   // what is in main is not replaced when something happens
	Done    string // what was done just now
	List    *list  // what waits, shown beside the content where there is room
	Signed  bool   // somebody is signed in
	Name    string // who
	Where   string // the workspace
	CSRF    string
	Version string
	Now     time.Time
	Data    any
}

// pages are the templates and the files of the inbox.
type pages struct {
	byName map[string]*template.Template
	assets map[string]asset
}

type asset struct {
	body []byte
	kind string
	sum  string
}

// newPages parses what is embedded. That it can be parsed is known from the tests, so a failure is a fault of the program.
func newPages() *pages {
	p := &pages{byName: map[string]*template.Template{}, assets: map[string]asset{}}
	static, err := fs.ReadDir(files, "static")
	must(err)
	for _, f := range static {
		body, err := files.ReadFile("static/" + f.Name())
		must(err)
		sum := sha256.Sum256(body)
		p.assets[f.Name()] = asset{body, kindOf(f.Name()), hex.EncodeToString(sum[:8])}
	}
	// A page is a file of its own; what begins with "_" is shared by all.
	shared := template.New("").Funcs(p.funcs())
	names, err := fs.Glob(files, "templates/*.html")
	must(err)
	for _, name := range names {
		if base := path.Base(name); strings.HasPrefix(base, "_") {
			body, err := files.ReadFile(name)
			must(err)
			template.Must(shared.New(base).Parse(string(body)))
		}
	}
	for _, name := range names {
		if base := path.Base(name); !strings.HasPrefix(base, "_") {
			body, err := files.ReadFile(name)
			must(err)
			t := template.Must(template.Must(shared.Clone()).New(base).Parse(string(body)))
			p.byName[strings.TrimSuffix(base, ".html")] = t.Lookup("_frame.html")
		}
	}
	return p
}

// kindOf is the media type of a file, whatever the machine says of it.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webmanifest":
		return "application/manifest+json"
	default:
		return "text/plain; charset=utf-8"
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// funcs are what templates can call. All text of agents goes through one of line, block and markdown.
func (p *pages) funcs() template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) (string, error) { // its address changes with what is in it
			a, ok := p.assets[name]
			if !ok {
				return "", fmt.Errorf("no file %s", name)
			}
			return "/static/" + name + "?v=" + a.sum, nil
		},
		"line":  line,
		"lines": block, "markdown": newMarkdown().html, "size": size, "share": share, "since": since,
		"ago":   ago,
		"kind":  kindName,
		"short": func(s string) template.HTML { return line(upTo(s, maxName)) },
		"plain": func(s string) string { return term.Line(s, maxName) },
		"left":  left,
		"part":  pathPart,
		"fresh": freshClass, "status": statusClass,
		"time": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"iso":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}
}

// static serves the files of the pages. Their addresses name what is in them, so browsers keep them.
func (p *pages) static(w http.ResponseWriter, r *http.Request) {
	httpguard.SetRoute(r, r.Pattern)
	a, ok := p.assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("ETag", `"`+a.sum+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.sum {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}

// render writes a page whole, or nothing of it.
func (s *Server) render(v *visit, status int, name string, pg page) error {
	t, ok := s.pages.byName[name]
	if !ok {
		return fmt.Errorf("no template %s", name)
	}
	pg.Signed, pg.Name, pg.Where, pg.CSRF = v.reviewer != nil, v.human.Name, v.human.Workspace, v.csrf
	pg.Version, pg.Now = s.opts.Version, time.Now()
	if v.board != nil {
		pg.Open, pg.More, pg.Seq = len(v.board.lots), v.board.more, int64(v.board.seq)
		pg.Opened = int64(s.newestTold(v))
		pg.Live, pg.Session = status == http.StatusOK, sessionMark(v.secret)
	}
	if pg.Done == "" && v.r.Method == http.MethodGet {
		pg.Done = doneSentence(v.r.URL.Query().Get("done"), pg.Data)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, pg); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	_ = httpguard.Send(v.w, v.r, status, "text/html; charset=utf-8", b.Bytes()) // the browser may be gone
	return nil
}

// newestTold is the event that opened the newest lot of which anybody is notified: one of no muted stream.
func (s *Server) newestTold(v *visit) revue.Seq {
	lots := v.board.lots
	if len(lots) == 0 {
		return 0
	}
	streams, err := v.admin.Streams(v.r.Context())
	if err != nil {
		s.log.WarnContext(v.r.Context(), "which streams are muted could not be read", "err", err)
	}
	muted := map[string]bool{}
	for _, st := range streams {
		muted[st.Slug] = st.Muted
	}
	for _, l := range slices.Backward(lots) {
		if !muted[l.Stream] {
			return l.Seq
		}
	}
	return 0
}

// doneSentence says what was done, by the word that the address has for it, where what is shown agrees; "" for any other. An
// address can be made up, kept and opened again.
func doneSentence(word string, shown any) string {
	var lot revue.Lot
	switch d := shown.(type) {
	case loginPage:
		if word == "signed-out" && d.Error == "" {
			return "You are signed out."
		}
	case card:
		lot = d.Lot
	}
	approval, value := lot.Kind == revue.KindApproval, ""
	if lot.Answer != nil {
		value = lot.Answer.Value
	}
	switch {
	case word == "answered" && lot.Status == revue.StatusAnswered && !approval:
		return "Answered: the agents that wait get it now."
	case word == "approved" && lot.Status == revue.StatusAnswered && approval && value == revue.Approved:
		return "Approved: the agent goes on."
	case word == "declined" && lot.Status == revue.StatusAnswered && approval && value == revue.Declined:
		return "Declined: the agent is told."
	case word == "dismissed" && lot.Status == revue.StatusDismissed && lot.MergedInto == "":
		return "Dismissed without an answer."
	case word == "reopened" && lot.Status == revue.StatusOpen && lot.Earlier != nil:
		return "Open again."
	default:
		return ""
	}
}
