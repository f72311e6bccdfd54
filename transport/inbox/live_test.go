package inbox

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revuehq/revue"
)

// view is a live view that is read as it is written.
type view struct {
	http.ResponseWriter

	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	text strings.Builder
}

func (v *view) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text.Write(p)
}

func (v *view) Flush() {}

// said is what was written so far.
func (v *view) said() string {
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text.String()
}

// over reports whether the view has ended.
func (v *view) over() bool {
	synctest.Wait()
	select {
	case <-v.done:
		return true
	default:
		return false
	}
}

// watch opens a live view, which the test ends.
func (s *site) watch(secret, query string, header map[string]string) *view {
	ctx, cancel := context.WithCancel(s.t.Context())
	rec := httptest.NewRecorder()
	v := &view{ResponseWriter: rec, cancel: cancel, done: make(chan struct{})}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/live"+query, nil)
	r.Header.Set("Cookie", cookieName+"="+secret)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	go func() {
		defer close(v.done)
		s.web.ServeHTTP(v, r)
	}()
	s.t.Cleanup(func() {
		cancel()
		<-v.done
	})
	return v
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		me := s.session("acme", "Ada")
		head := s.head("acme")
		v := s.watch(me.Secret, fmt.Sprint("?after=", head-1), nil)
		require.Contains(t, v.said(), fmt.Sprintf("id: %d\nevent: change\ndata: {", head))
		require.NotContains(t, v.said(), fmt.Sprintf("id: %d\n", head-1))
		now := s.watch(me.Secret, "", nil)
		ahead := s.watch(me.Secret, fmt.Sprint("?after=", head+1000), nil)
		back := s.watch(me.Secret, "?after=0", map[string]string{"Last-Event-ID": fmt.Sprint(head)})
		require.NotContains(t, now.said()+ahead.said()+back.said(), "change")
		_, err := s.desk.Reviewer(s.human("acme", "Bo")).Dismiss(t.Context(), s.ids[4], revue.Dismissal{Reason: hush})
		require.NoError(t, err)
		<-time.After(time.Second) // nobody watches the store here, so it is polled
		for _, v := range []*view{v, now, ahead, back} {
			require.Contains(t, v.said(), fmt.Sprintf("id: %d\nevent: change\ndata: {\"kind\":\"lot.dismissed\",\"lot\":\"%s\"}\n\n", head+1, s.ids[4]))
			require.NotContains(t, v.said(), hush, "a live view is told of ids alone")
			require.False(t, v.over())
		}
		require.Equal(t, "text/event-stream", v.Header().Get("Content-Type"))
		require.NotContains(t, v.said(), "event: beat")
		<-time.After(heartbeat)
		require.Contains(t, v.said(), "event: beat")
		v.cancel()
		require.True(t, v.over())

		for _, query := range []string{"?after=-1", "?after=x", "?after=99999999999999999999"} {
			bad := s.watch(me.Secret, query, nil)
			require.True(t, bad.over())
			require.Contains(t, bad.said(), "must be the number of an event")
		}
	})
}

// A live view ends with its session, however that ends, and says so.
func TestLiveEnds(t *testing.T) {
	const end = "event: end\n"
	for name, finish := range map[string]func(s *site, me revue.Token){
		"revoked": func(s *site, me revue.Token) {
			_, err := s.desk.Admin(s.human("acme", "Ada")).RevokeToken(s.t.Context(), me.ID)
			require.NoError(s.t, err)
			<-time.After(time.Second)
		},
		"signed out": func(s *site, me revue.Token) {
			res := s.do(call{method: http.MethodPost, path: "/logout", cookie: me.Secret, form: map[string][]string{"csrf": {formToken(me.Secret)}}})
			require.Equal(s.t, http.StatusSeeOther, res.StatusCode)
			<-time.After(time.Second)
		},
		"its human removed": func(s *site, me revue.Token) {
			_, err := s.desk.Admin(s.human("acme", "Ada")).RemoveMember(s.t.Context(), me.Member)
			require.NoError(s.t, err)
			<-time.After(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, nil)
				me, other := s.session("acme", "Ada"), s.session("acme", "Bo")
				v, w := s.watch(me.Secret, "", nil), s.watch(other.Secret, "", nil)
				require.False(t, v.over())
				finish(s, me)
				require.True(t, v.over())
				require.Contains(t, v.said(), end)
				require.False(t, w.over())
				require.NotContains(t, w.said(), end)
			})
		})
	}
}

// So it does when its time is up: here with the token that it is under.
func TestLiveExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		tok, err := s.desk.Admin(s.human("acme", "Ada")).CreateToken(t.Context(), revue.NewToken{Kind: revue.TokenHuman, Life: 50 * time.Second})
		require.NoError(t, err)
		p, err := s.desk.Authenticate(t.Context(), tok.Secret)
		require.NoError(t, err)
		in, err := s.desk.Admin(*p.Human).SignIn(t.Context())
		require.NoError(t, err)
		me, err := s.desk.OpenSession(t.Context(), in.Code, "")
		require.NoError(t, err)
		v := s.watch(me.Secret, "", nil)
		<-time.After(49 * time.Second)
		require.False(t, v.over())
		<-time.After(time.Second)
		require.True(t, v.over())
		require.Contains(t, v.said(), "event: end\n")
	})
}

// When the server stops, live views end without a word, and no new one begins.
func TestLiveShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		me := s.session("acme", "Ada")
		v, w := s.watch(me.Secret, "", nil), s.watch(me.Secret, "", nil)
		require.False(t, v.over())
		require.NoError(t, s.inbox.Shutdown(t.Context()))
		require.True(t, v.over())
		require.True(t, w.over())
		require.NotContains(t, v.said(), "event: end")
		late := s.watch(me.Secret, "", nil)
		require.True(t, late.over())
		require.Contains(t, late.said(), "the plane is stopping")
		require.Equal(t, http.StatusOK, s.do(call{method: http.MethodGet, path: "/", cookie: me.Secret}).StatusCode)
	})
}

// One session has so many live views and no more, whatever others have.
func TestLiveBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		me, other := s.session("acme", "Ada"), s.session("acme", "Ada")
		var views []*view
		for range maxStreams {
			views = append(views, s.watch(me.Secret, "", nil))
			require.False(t, views[0].over())
		}
		more := s.watch(me.Secret, "", nil)
		require.True(t, more.over())
		require.Contains(t, more.said(), "too many live views")
		require.False(t, s.watch(other.Secret, "", nil).over())
		views[3].cancel()
		require.True(t, views[3].over())
		require.False(t, s.watch(me.Secret, "", nil).over())
	})
}
