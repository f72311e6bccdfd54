package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/revuehq/revue/internal/testneed"
)

// AxeVersion is the version of axe-core (MPL-2.0) that pages are checked with. It is taken from npm when it is needed
// and kept in .cache; no part of it is in this project.
const AxeVersion = "4.14.1"

// Axe returns the source of axe-core, from the cache below root where it is there.
func Axe(tb testing.TB, root string) string {
	tb.Helper()
	dir := filepath.Join(root, ".cache", "axe", AxeVersion)
	script := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	if text, err := os.ReadFile(script); err == nil { //nolint:gosec // in our own cache
		return string(text)
	}
	if !testneed.MayInstall() {
		testneed.Need(tb, "axe-core", `not installed in .cache/axe; "make browser" does that`)
	}
	npm := testneed.Program(tb, "npm")
	// Another test may be about the same: each installs beside the place, and one of them moves there.
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		tb.Fatal(err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "new-") //nolint:usetesting // where it is moved from must be beside where it is moved to
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.WriteFile(filepath.Join(tmp, "package.json"), []byte("{\"private\":true}\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", //nolint:gosec // npm, with words of ours
		"--loglevel=error", "axe-core@"+AxeVersion)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		testneed.Need(tb, "the npm registry", "npm install failed: "+strings.TrimSpace(string(out)))
	}
	err = os.Rename(tmp, dir)
	text, readErr := os.ReadFile(script) //nolint:gosec // in our own cache
	if readErr != nil {
		tb.Fatalf("axe-core is not where it was installed: %v, %v", readErr, err)
	}
	return string(text)
}

// Violation is a rule of axe-core that a page breaks.
type Violation struct {
	ID     string
	Impact string
	Help   string
	Nodes  []struct {
		Target []any
		HTML   string
		Why    string
	}
}

// String says what is wrong and where.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s", v.ID, v.Impact, v.Help)
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "\n    %v %s\n      %s", n.Target, n.HTML, strings.ReplaceAll(n.Why, "\n", " "))
	}
	return b.String()
}

// Audit is what axe-core found on a page.
type Audit struct {
	Violations []Violation
	Passes     int // rules that had something to look at, and are kept
}

// Audit runs axe-core on the page as it is: all of its rules for WCAG 2.0 to 2.2, A and AA, and its best practices.
func (t *Tab) Audit(axe string) Audit {
	t.tb.Helper()
	if Eval[bool](t, "!window.axe") {
		ctx, cancel := t.patient()
		defer cancel()
		t.must("load axe-core", chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](axe)))
	}
	return Eval[Audit](t, `(async () => {
	const r = await axe.run(document, {
		preload: false, elementRef: false, resultTypes: ["violations", "passes"],
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	});
	return {
		Passes: r.passes.length,
		Violations: r.violations.map((v) => ({ID: v.id, Impact: v.impact ?? "", Help: v.help,
			Nodes: v.nodes.slice(0, 5).map((n) => ({Target: n.target, HTML: n.html.slice(0, 200), Why: n.failureSummary ?? ""}))})),
	};
})()`)
}
