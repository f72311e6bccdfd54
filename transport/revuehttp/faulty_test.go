package revuehttp_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue/revuetest"
	"github.com/revuehq/revue/transport/revuehttp"
)

// faults is what goes wrong on a bad network, at random.
type faults struct {
	mu    sync.Mutex
	rnd   *rand.Rand
	every bool // connection is cut while it answers; else three of four are, in one direction or the other

	conns, requests                                   atomic.Int64
	cutIn, cutOut, delays, refusals, refused, dropped atomic.Int64
}

func newFaults(seed uint64) *faults { return &faults{rnd: rand.New(rand.NewPCG(seed, seed))} }

// roll reports whether what happens once in so many times happens now.
func (f *faults) roll(times int) bool { return f.upTo(times) == 0 }

func (f *faults) upTo(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rnd.IntN(n)
}

// listener wraps one so that its connections fail: some are cut after a number of bytes from the client, or to it, and
// on some the bytes come late.
func (f *faults) listener(l net.Listener) net.Listener { return &faultyListener{l, f} }

type faultyListener struct {
	net.Listener
	faults *faults
}

func (l *faultyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	f := l.faults
	f.conns.Add(1)
	fc := &faultyConn{Conn: c, faults: f, in: -1, out: -1, late: f.roll(4)}
	kind := f.upTo(4)
	if kind == 0 {
		fc.in = f.upTo(6 << 10)
	}
	if kind == 1 || kind == 2 || f.every {
		fc.out = f.upTo(8 << 10)
	}
	return fc, nil
}

// faultyConn is a connection as the server has it.
type faultyConn struct {
	net.Conn
	faults *faults
	late   bool

	mu      sync.Mutex
	in, out int // bytes until it is cut, -1 for never
	dead    bool
}

var errCut = errors.New("the network broke")

// cut ends the connection: at times with a reset, which loses what is on its way.
func (c *faultyConn) cut(n *atomic.Int64) {
	n.Add(1)
	c.mu.Lock()
	c.dead = true
	c.mu.Unlock()
	if tcp, ok := c.Conn.(*net.TCPConn); ok && c.faults.roll(2) {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}

// spend takes n bytes off what is left, and returns how many of them get through.
func (c *faultyConn) spend(left *int, n int) (through int, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.dead:
		return 0, true
	case *left < 0:
		return n, false
	case n > *left:
		n = *left
		*left = 0
		return n, true
	}
	*left -= n
	return n, false
}

func (c *faultyConn) wait() {
	if c.late && c.faults.roll(4) {
		c.faults.delays.Add(1)
		<-time.After(time.Duration(c.faults.upTo(3000)) * time.Microsecond)
	}
}

func (c *faultyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wait()
	through, cut := c.spend(&c.in, n)
	if !cut || n == 0 {
		return through, err
	}
	c.cut(&c.faults.cutIn)
	return through, errCut
}

func (c *faultyConn) Write(p []byte) (int, error) {
	through, cut := c.spend(&c.out, len(p))
	sent := 0
	for sent < through {
		part := through - sent
		if c.late {
			part = min(part, 1+c.faults.upTo(2<<10))
		}
		n, err := c.Conn.Write(p[sent : sent+part])
		if sent += n; err != nil {
			return sent, err
		}
		c.wait()
	}
	if !cut {
		return sent, nil
	}
	c.cut(&c.faults.cutOut)
	return sent, errCut
}

// handler wraps one so that a request is refused at times, with 503: before anything was done, or when all was done and
// only the answer is missing.
func (f *faults) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		refuse := func(n *atomic.Int64) {
			n.Add(1)
			if f.roll(20) {
				w.Header().Set("Retry-After", strconv.Itoa(f.upTo(2)))
			}
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}
		whole := r.Method == http.MethodPost // the answer is one that can be kept back whole
		switch fate := f.upTo(25); {
		case fate == 0:
			_, _ = io.Copy(io.Discard, r.Body)
			refuse(&f.refusals)
		case fate == 1 && whole:
			h.ServeHTTP(httptest.NewRecorder(), r)
			refuse(&f.refused)
		case fate == 2 && whole:
			h.ServeHTTP(httptest.NewRecorder(), r)
			f.dropped.Add(1)
			panic(http.ErrAbortHandler)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// report logs what went wrong, and fails where nothing did.
func (f *faults) report(t *testing.T) {
	t.Helper()
	n := []int64{f.cutIn.Load(), f.cutOut.Load(), f.delays.Load(), f.refusals.Load(), f.refused.Load(), f.dropped.Load()}
	t.Logf("%d connections, %d requests; cut: %d requests, %d responses; late: %d; refused: %d before, %d after all was done; dropped: %d",
		f.conns.Load(), f.requests.Load(), n[0], n[1], n[2], n[3], n[4], n[5])
	for _, count := range n {
		require.Positive(t, count, "a kind of fault never happened")
	}
}

// patient is a client that does not give up where every fourth request fails, nor where the machine is busy.
func patient(hc *http.Client) revuehttp.ClientOptions {
	return revuehttp.ClientOptions{HTTP: hc, Tries: 100, RetryFor: time.Minute, ConnectTimeout: time.Minute, Timeout: time.Minute}
}

// The whole suite again, over a network that breaks: connections are cut at any byte in both directions, bytes come
// late, requests are refused, also when they were carried out. No answer gets lost and none comes twice.
func TestContractHTTPFaulty(t *testing.T) {
	t.Parallel() // nearly all of it is waiting
	runs, atOnce := 100, 40
	switch {
	case testing.Short():
		runs = 2
	case raceEnabled: // each takes many times as long
		runs = 10
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := newFaults(seed)
	began := time.Now()
	var wg sync.WaitGroup
	running := make(chan struct{}, atOnce)
	for i := range runs {
		wg.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			t.Run(strconv.Itoa(i), func(t *testing.T) { // not t.Parallel, which would run one a core
				revuetest.Contract(t, func(t *testing.T) revuetest.System {
					s := newSite(t)
					ts := httptest.NewUnstartedServer(f.handler(s.server.Handler()))
					ts.Listener = f.listener(ts.Listener)
					ts.Start()
					t.Cleanup(ts.Close)
					plain, _ := ts.Client().Transport.(*http.Transport)
					plain.DisableCompression = true // as in the default transport of a client
					sys := s.system(ts.URL, patient(ts.Client()))
					sys.Lossy, sys.Rounds, sys.Agents, sys.Patience = true, 1, 4, 5*time.Minute
					return sys
				})
			})
		})
	}
	wg.Wait()
	f.report(t)
	t.Logf("%d runs of the suite took %s", runs, time.Since(began).Round(time.Second))
}
