package httpguard

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter bounds how often each of many callers may do something. It is safe for concurrent use, it needs no
// goroutine, and it forgets who has been quiet for so long that it makes no difference.
type Limiter struct {
	rate   rate.Limit
	burst  int
	bodies *Bodies
	turn   time.Duration // after which a bucket that nobody touched is full again

	mu     sync.Mutex
	turned time.Time
	now    map[string]*rate.Limiter
	before map[string]*rate.Limiter
}

// maxCallers bounds how many callers are told apart; those beyond it share one bucket.
const maxCallers = 1 << 16

// NewLimiter allows each caller burst acts at once, and perSecond from then on. Where perSecond is not positive it
// returns nil, which allows everything.
func NewLimiter(perSecond float64, burst int) *Limiter {
	if perSecond <= 0 {
		return nil
	}
	burst = max(burst, 1)
	return &Limiter{
		rate: rate.Limit(perSecond), burst: burst, bodies: NewBodies(0),
		turn: max(time.Duration(float64(burst)/perSecond*float64(time.Second)), time.Second),
		now:  map[string]*rate.Limiter{}, before: map[string]*rate.Limiter{},
	}
}

// Allow reports whether a caller may act now; where not, in how long it may.
func (l *Limiter) Allow(caller string) (wait time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	res := l.bucket(caller, now).ReserveN(now, 1)
	if wait = res.DelayFrom(now); wait > 0 {
		res.CancelAt(now)
		return wait, false
	}
	return 0, true
}

// bucket is called with the lock held. What was not touched for a whole turn is full and can go.
func (l *Limiter) bucket(caller string, now time.Time) *rate.Limiter {
	if age := now.Sub(l.turned); age >= l.turn {
		l.before = l.now
		if age >= 2*l.turn {
			l.before = nil
		}
		l.now, l.turned = map[string]*rate.Limiter{}, now
	}
	if b, ok := l.now[caller]; ok {
		return b
	}
	b, ok := l.before[caller]
	if !ok {
		if len(l.now) >= maxCallers && caller != "" {
			return l.bucket("", now)
		}
		b = rate.NewLimiter(l.rate, l.burst)
	}
	l.now[caller] = b
	return b
}

// callerAddress is whom an address belongs to: all of an IPv6 network of 64 bits is one caller.
func callerAddress(r *http.Request) string {
	host := RemoteHost(r)
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}

// Limited passes on what the caller's token may do now and answers 429 to the rest: to requests that come too often, and
// to those whose bodies, with the ones that are on their way, are more than DefaultBodies in bytes. What stands behind
// one Limiter shares both bounds; nil sets none to how often. Where nobody was authenticated it has no say.
func Limited(l *Limiter, next http.Handler) http.Handler {
	bodies := NewBodies(0)
	if l != nil {
		bodies = l.bodies
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := PrincipalFrom(r.Context()); ok && p.TokenID != "" {
			if wait, ok := l.Allow(p.TokenID); !ok {
				TooMany(w, wait)
				return
			}
			leave, ok := bodies.Admit(w, r, p.TokenID)
			if !ok {
				return
			}
			defer leave()
		}
		next.ServeHTTP(w, r)
	})
}

// TooMany answers 429 to a token that makes too many requests.
func TooMany(w http.ResponseWriter, wait time.Duration) {
	RateLimited(w, wait, "this token makes too many requests; wait, and make fewer")
}
