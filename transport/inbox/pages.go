package inbox

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:templates static
var files embed.FS

// page is what the frame around every page shows. Its Data is the page's own.
type page struct {
	Title   string
	Nav     string // which entry of the navigation is the current one: inbox, history, memory, overview, settings
	Open    int    // how many lots wait
	Done    string // what was done just now
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
		p.assets[f.Name()] = asset{body, mime.TypeByExtension(path.Ext(f.Name())), hex.EncodeToString(sum[:8])}
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
		"line": line,
		"ago":  ago,
		"time": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"iso":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}
}

// static serves the files of the pages. Their addresses name what is in them, so browsers keep them.
func (p *pages) static(w http.ResponseWriter, r *http.Request) {
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
	var b bytes.Buffer
	if err := t.Execute(&b, pg); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, err := v.w.Write(b.Bytes())
	return err
}
