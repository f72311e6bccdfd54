package httpguard_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/httpguard"
)

// anyToken is a plane for which each token is good, and its own id.
type anyToken struct{ revue.Plane }

func (anyToken) Authenticate(_ context.Context, bearer string) (revue.Principal, error) {
	return revue.Principal{TokenID: bearer, Kind: revue.TokenAgent, Agent: &revue.Agent{}}, nil
}

func reads(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		httpguard.TooSlow(w)
	}
}

// Many bodies that one token holds open are few, whatever way their length is told; others are served meanwhile, and
// so is the same token once some have arrived or were given up.
func TestBodiesOnTheirWay(t *testing.T) {
	const size = httpguard.DefaultMaxBody
	for name, length := range map[string]string{
		"with a length": fmt.Sprint("Content-Length: ", size),
		"chunked":       "Transfer-Encoding: chunked",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limited := httpguard.Limited(nil, http.HandlerFunc(reads))
				dial := serve(t, httpguard.New(nil)(httpguard.Bearer(anyToken{}, limited)))
				var all []net.Conn
				open := func(token, length string) net.Conn {
					c := dial()
					all = append(all, c)
					_, err := io.WriteString(c, "POST /x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n"+length+"\r\n\r\n")
					require.NoError(t, err)
					synctest.Wait()
					return c
				}
				refused := func(token string) {
					resp, err := http.ReadResponse(bufio.NewReader(open(token, length)), nil)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
					require.Equal(t, "1", resp.Header.Get("Retry-After"))
				}
				served := func(token string) {
					status, _, _ := answer(t, open(token, "Content-Length: 0"))
					require.Equal(t, http.StatusOK, status)
				}
				var held []net.Conn
				for range httpguard.DefaultBodies / size {
					held = append(held, open("one", length))
				}
				refused("one")
				served("one") // nothing has to be kept for it
				other := open("two", "Content-Length: 2")
				_, err := io.WriteString(other, "ab")
				require.NoError(t, err)
				status, _, _ := answer(t, other)
				require.Equal(t, http.StatusOK, status)

				// One is given up, the others take too long: each makes room for one.
				require.NoError(t, held[0].Close())
				synctest.Wait()
				held = append(held, open("one", length))
				refused("one")
				<-time.After(time.Minute)
				for _, c := range held[1:] {
					status, _, _ := answer(t, c)
					require.Equal(t, http.StatusRequestTimeout, status)
				}
				synctest.Wait()
				for range httpguard.DefaultBodies / size {
					open("one", length)
				}
				refused("one")
				for _, c := range all {
					_ = c.Close() // some have been
				}
				<-time.After(time.Second)
			})
		})
	}
}

// What waits for a human after its body was read does not count.
func TestBodiesThatArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := make(chan struct{})
		limited := httpguard.Limited(httpguard.NewLimiter(1000, 1000), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reads(w, r)
			<-wait
		}))
		h := httpguard.Bearer(anyToken{}, limited)
		results := make(chan int)
		const n = 3 * httpguard.DefaultBodies / httpguard.DefaultMaxBody
		for range n {
			go func() {
				r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(strings.Repeat(" ", httpguard.DefaultMaxBody)))
				r.Header.Set("Authorization", "Bearer one")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				results <- w.Code
			}()
			synctest.Wait()
		}
		close(wait)
		for range n {
			require.Equal(t, http.StatusOK, <-results)
		}
	})
}

// A target with what looks like a token is refused before any routing, and named nowhere.
func TestTokenInTheTarget(t *testing.T) {
	guard := httpguard.New(nil)(http.NewServeMux())
	for _, target := range []string{
		"/mcp?key=rvu_a_secretpart", "/rvu_h_secretpart", "/healthz?RVU_A_secretpart", "/a//../rvu_a_secretpart",
		"/x?t=%72vu_a_secretpart", "/x?t=rvu%5fa%5Fsecretpart", "/x/rvu%5fh_secretpart", "/x?t=%2572vu_a_secretpart",
		"/x?bad=%zz&t=rvu%5fa_secretpart", "/x?bad=%&t=%72vu_h_secretpart", "/x?%252572vu_a_secretpart=1",
		"http://localhost/mcp/rvu_a_secretpart", "/x?" + strings.Repeat("%25", 40) + "72vu_a_secretpart",
	} {
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		require.Equal(t, http.StatusBadRequest, w.Code, target)
		require.Equal(t, "invalid", problemOf(t, w).Code)
		require.NotContains(t, strings.ToLower(w.Body.String()+fmt.Sprint(w.Header())), "secretpart")
	}
	for _, target := range []string{"/mcp", "/x?q=100%25", "/x?q=revue_a", "/x?bad=%zz"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Host = "localhost"
		guard.ServeHTTP(w, r)
		require.Equal(t, http.StatusNotFound, w.Code, target)
	}
}

// A body that is encoded is refused, since nothing here decodes one.
func TestEncodedBodies(t *testing.T) {
	guard := httpguard.New(nil)(ok)
	for encoding, status := range map[string]int{
		"": 200, "identity": 200, "Identity": 200, "identity, identity": 200,
		"gzip": 415, "identity, gzip": 415, "br": 415, "x": 415, "deflate": 415,
	} {
		r := httptest.NewRequest(http.MethodPost, "/x", strings.NewReader("{}"))
		r.Host = "localhost"
		r.Header["Content-Encoding"] = []string{"identity", encoding}
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, encoding)
	}
}
