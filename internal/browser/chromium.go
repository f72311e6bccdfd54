package browser

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/revuehq/revue/internal/testneed"
)

// Patience is how long a tab waits for what a test expects of it. It is long, for machines that are busy; a page that
// is well takes a few milliseconds.
const Patience = 20 * time.Second

// Chromium is one browser process, started at its first use. Its zero value is ready. It is safe for concurrent use.
type Chromium struct {
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // chromedp knows a browser by its context
	cancel context.CancelFunc
	err    error
}

// names are the programs that will do, the first of them first.
func names() []string {
	return []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"}
}

// Find returns the path of Chromium, or ends the test as testneed.Need does.
func Find(tb testing.TB) string {
	tb.Helper()
	for _, name := range names() {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testneed.Need(tb, "chromium", "none of "+strings.Join(names(), ", ")+" is in PATH; on Debian: apt-get install chromium")
	return ""
}

// start returns the context of the running browser.
func (c *Chromium) start(tb testing.TB) context.Context {
	tb.Helper()
	path := Find(tb)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil && c.err == nil {
		c.launch(path)
	}
	if c.err != nil {
		tb.Fatalf("chromium did not start: %v", c.err)
	}
	return c.ctx
}

func (c *Chromium) launch(path string) {
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Flag("disable-dev-shm-usage", false),
		// Nothing but this machine can be reached, whatever a page tries.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("disable-features", "Translate,OptimizationHints,MediaRouter,AutofillServerCommunication,PasswordManager"),
		chromedp.Flag("hide-scrollbars", true),
		// Letters look the same on every machine that has the same fonts.
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("lang", "en-GB"),
		chromedp.WSURLReadTimeout(time.Minute),
	)
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	// The browser outlives the test that needed it first.
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(alloc)
	c.ctx, c.cancel = ctx, func() {
		cancel()
		stop()
	}
	if c.err = chromedp.Do(ctx); c.err != nil {
		c.cancel()
		c.ctx = nil
	}
}

// Close ends the browser, if it was started. TestMain calls it when the tests have run.
func (c *Chromium) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx != nil {
		c.cancel()
		c.ctx, c.err = nil, errors.New("it was closed")
	}
}

// Options say what a [Profile] is like. nil is the zero value: a desk, light, with scripts.
type Options struct {
	Width, Height int     // of the viewport, in CSS pixels; 1280 by 800 where they are 0. Up to 480 it is a telephone
	Scale         float64 // device pixels for a CSS pixel; 1 where it is 0
	Dark          bool    // the person prefers dark colours
	Reduced       bool    // the person prefers reduced motion
	NoScript      bool    // scripts of pages do not run

	Failures string // the folder that gets a picture of each tab of a test that failed; "" for none
}

// Profile is a person at a browser: cookies, storage and caches of their own.
type Profile struct {
	tb   testing.TB
	root context.Context //nolint:containedctx // chromedp knows a tab by its context
	id   target.CreateBrowserContextResult
	opts Options

	origin string
}

// Profile returns a new profile, which ends with the test. The origin is the one place that its pages are from, as in
// "http://127.0.0.1:1234".
func (c *Chromium) Profile(tb testing.TB, origin string, opts *Options) *Profile {
	tb.Helper()
	root := c.start(tb)
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Width == 0 {
		o.Width = 1280
	}
	if o.Height == 0 {
		o.Height = 800
	}
	id, err := chromedp.CallBrowser(root, target.CreateBrowserContext, target.CreateBrowserContextParams{DisposeOnDetach: new(true)})
	if err != nil {
		tb.Fatalf("a new profile: %v", err)
	}
	tb.Cleanup(func() {
		_, err := chromedp.CallBrowser(root, target.DisposeBrowserContext, target.DisposeBrowserContextParams(id))
		if err != nil {
			tb.Errorf("end of a profile: %v", err)
		}
	})
	return &Profile{tb: tb, root: root, id: id, opts: o, origin: origin}
}
