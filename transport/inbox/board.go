package inbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/revuehq/revue"
)

// The bounds of what is kept of the workspaces.
const (
	maxBoards   = 64               // workspaces; past it the one that was not looked at for longest is dropped
	maxOnBoard  = 10_000           // open lots of one workspace; the newest beyond it wait until there is room
	boardIdle   = 15 * time.Minute // after which a board that nobody looks at is dropped
	boardPage   = 100              // lots read at once
	maxFollowed = 2000             // events; past it reading all open lots is cheaper
	maxReread   = 200              // lots; as well
	maxListed   = 240              // characters of a question
	maxCalledBy = 32               // agents, repositories and threads of one lot
	maxName     = 100              // characters of such a name
	maxSearched = 4 << 10          // bytes of what a search looks at
)

// boards keep what waits in each workspace. A board is a projection of what is committed: it reads the open lots once,
// and follows the journal from there before each page, so a page shows what any process had committed before the request.
type boards struct {
	mu     sync.Mutex
	of     map[string]*board // by workspace
	timer  *time.Timer       // drops the idle ones; nil where there is no board
	closed bool
}

// board is what waits in one workspace.
type board struct {
	used time.Time // guarded by boards.mu

	turn chan struct{} // who holds its one place may read and write what follows
	seq  revue.Seq     // the event that it reflects; -1 before the first reading
	hash string        // of that event, to notice another journal
	lots []*openLot    // open, oldest first; never changed, only replaced
	room int           // how many there may be
	rest string        // the cursor of the lots that found no room; "" for none
	upTo revue.Seq     // the last lot read where rest is set
}

// snapshot is what waited at one time. It is never changed.
type snapshot struct {
	seq  revue.Seq  // the event that it reflects at least
	lots []*openLot // oldest first
	more bool       // there are newer ones, for which there is no room
}

// openLot is what a list shows of an open lot. It is never changed.
type openLot struct {
	ID         string
	Seq        revue.Seq
	Kind       revue.Kind
	Revision   revue.Revision
	Text       string // the first line of its question, cut
	Stream     string
	Agents     []string // who asks, each once
	Repos      []string
	Threads    []string
	Waiting    int // agents, told apart by credential and thread
	Asks       int
	Since      time.Time // the first ask
	Newest     time.Time // the last thing that happened to it
	Expires    time.Time // zero: never
	Options    int
	Precedents int

	alike  [sha256.Size]byte // equal where question and options are
	search string
}

// current returns what waits in the reviewer's workspace, as of now or later.
func (b *boards) current(ctx context.Context, workspace string, r revue.Reviewer) (*snapshot, error) {
	return b.board(workspace).current(ctx, r)
}

func (b *boards) board(workspace string) *board {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.of[workspace]
	if at == nil {
		if b.of == nil {
			b.of = map[string]*board{}
		}
		if len(b.of) >= maxBoards {
			b.dropOldest()
		}
		at = newBoard(maxOnBoard)
		b.of[workspace] = at
	}
	at.used = now
	if b.timer == nil && !b.closed {
		b.timer = time.AfterFunc(boardIdle, b.dropIdle)
	}
	return at
}

func newBoard(room int) *board { return &board{turn: make(chan struct{}, 1), seq: -1, room: room} }

func (b *boards) dropOldest() {
	oldest := ""
	for name, at := range b.of {
		if old := b.of[oldest]; old == nil || at.used.Before(old.used) {
			oldest = name
		}
	}
	delete(b.of, oldest)
}

// dropIdle drops the boards that nobody has looked at for long. Whoever has one in hand can go on with it.
func (b *boards) dropIdle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = nil
	next := time.Duration(-1)
	for name, at := range b.of {
		left := boardIdle - time.Since(at.used)
		if left <= 0 {
			delete(b.of, name)
		} else if next < 0 || left < next {
			next = left
		}
	}
	if next >= 0 && !b.closed {
		b.timer = time.AfterFunc(next, b.dropIdle)
	}
}

// close drops all and stops the timer.
func (b *boards) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.of = true, nil
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
}

// current brings the board up to the head of the journal. Where that fails it stays what it was.
func (b *board) current(ctx context.Context, r revue.Reviewer) (*snapshot, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for range 5 { // a purge while the lots are read makes it begin again
		if b.seq < 0 {
			if err := b.load(ctx, r); err != nil {
				return nil, err
			}
		}
		ok, err := b.follow(ctx, r)
		if err != nil {
			return nil, err
		}
		if ok {
			return b.at(time.Now()), nil
		}
		b.seq = -1
	}
	return nil, &revue.Error{Code: revue.CodeUnavailable, Message: "the inbox changes too fast to be read; try again"}
}

// at returns what is open at a time: what has expired may not be written down yet.
func (b *board) at(now time.Time) *snapshot {
	lots := b.lots
	if expired := func(s *openLot) bool { return !s.Expires.IsZero() && !now.Before(s.Expires) }; slices.ContainsFunc(lots, expired) {
		lots = slices.DeleteFunc(slices.Clone(lots), expired)
	}
	return &snapshot{seq: b.seq, lots: lots, more: b.rest != ""}
}

// load reads the open lots. What changes meanwhile is in the journal after the number it began at.
func (b *board) load(ctx context.Context, r revue.Reviewer) error {
	_, head, err := r.Journal(ctx, revue.FromNow, 0)
	if err != nil {
		return err
	}
	hash := ""
	if head > 0 {
		events, _, err := r.Journal(ctx, head-1, 1)
		if err != nil {
			return err
		}
		if len(events) == 0 || events[0].Seq != head {
			return &revue.Error{Code: revue.CodeUnavailable, Message: "the journal was replaced while it was read; try again"}
		}
		hash = events[0].Hash
	}
	fresh := board{room: b.room}
	if err := fresh.fill(ctx, r); err != nil {
		return err
	}
	b.seq, b.hash, b.lots, b.rest, b.upTo = head, hash, fresh.lots, fresh.rest, fresh.upTo
	return nil
}

// fill reads open lots from where it stopped before, as long as there is room.
func (b *board) fill(ctx context.Context, r revue.Reviewer) error {
	lots := slices.Clip(b.lots)
	for len(lots) < b.room {
		page, err := r.Lots(ctx, revue.LotFilter{Status: revue.StatusOpen, Cursor: b.rest, Limit: min(boardPage, b.room-len(lots))})
		if err != nil {
			return err
		}
		if page.NextCursor != "" && (len(page.Items) == 0 || page.NextCursor == b.rest) {
			return &revue.Error{Code: revue.CodeUnavailable, Message: "the list of open lots has no end; try again"}
		}
		for _, lot := range page.Items {
			lots = append(lots, summarize(lot))
			b.upTo = lot.Seq
		}
		if b.rest = page.NextCursor; b.rest == "" {
			break
		}
	}
	b.lots = lots
	return nil
}

// follow reads what was committed since, and the lots that it names. It is not ok where all has to be read anew.
func (b *board) follow(ctx context.Context, r revue.Reviewer) (ok bool, err error) {
	seq, hash := b.seq, b.hash
	changed := map[string]bool{} // by lot: whether it has to be read
	for read := 0; ; {
		const limit = 500
		events, _, err := r.Journal(ctx, max(seq-1, 0), limit)
		if err != nil {
			return false, err
		}
		full := len(events) == limit
		if seq > 0 { // the first is the one that was the last: if not, this is another journal
			if len(events) == 0 || events[0].Seq != seq || events[0].Hash != hash {
				return false, nil
			}
			events = events[1:]
		}
		for _, e := range events {
			if e.Kind == revue.EventPurged { // it also takes text out of lots that it does not name
				return false, nil
			}
			touched(changed, e)
			seq, hash = e.Seq, e.Hash
		}
		if read += len(events); read > maxFollowed {
			return false, nil
		}
		if !full {
			break
		}
	}
	if len(changed) > 0 {
		if ok, err := b.apply(ctx, r, changed); err != nil || !ok {
			return false, err
		}
	}
	b.seq, b.hash = seq, hash
	return true, nil
}

// touched notes the lots that an event says have changed.
func touched(changed map[string]bool, e revue.Event) {
	switch e.Kind {
	case revue.EventLotAnswered, revue.EventLotDismissed, revue.EventLotExpired:
		changed[e.Lot] = false
	case revue.EventLotOpened, revue.EventAskJoined, revue.EventLotReopened:
		changed[e.Lot] = true
	case revue.EventAskMoved:
		changed[e.Lot], changed[e.Ref] = true, true
	default: // of a decision, a note, a token, a member: no open lot looks different for it
	}
}

// apply reads the lots that have changed. It is not ok where reading all is cheaper.
func (b *board) apply(ctx context.Context, r revue.Reviewer, changed map[string]bool) (ok bool, err error) {
	var now []*openLot
	reads := 0
	for id, read := range changed {
		if !read || id == "" {
			continue
		}
		if reads++; reads > maxReread {
			return false, nil
		}
		lot, err := r.Lot(ctx, id)
		if revue.CodeOf(err) == revue.CodeNotFound {
			continue
		}
		if err != nil {
			return false, err
		}
		if lot.Status == revue.StatusOpen && (b.rest == "" || lot.Seq <= b.upTo) {
			now = append(now, summarize(lot))
		}
	}
	next := board{room: b.room, rest: b.rest, upTo: b.upTo, lots: make([]*openLot, 0, len(b.lots)+len(now))}
	for _, s := range b.lots {
		if _, ok := changed[s.ID]; !ok {
			next.lots = append(next.lots, s)
		}
	}
	next.lots = append(next.lots, now...)
	slices.SortFunc(next.lots, func(a, b *openLot) int { return cmp.Compare(a.Seq, b.Seq) })
	if next.rest != "" && len(next.lots) <= next.room*3/4 {
		if err := next.fill(ctx, r); err != nil {
			return false, err
		}
	}
	b.lots, b.rest, b.upTo = next.lots, next.rest, next.upTo
	return true, nil
}

// summarize makes the summary of an open lot. Nothing in it keeps the texts of the lot in memory.
func summarize(l revue.Lot) *openLot {
	s := &openLot{
		ID: l.ID, Seq: l.Seq, Kind: l.Kind, Revision: l.Revision, Text: firstLine(l.Question, maxListed), Stream: l.Stream,
		Asks: l.AskCount, Since: l.CreatedAt, Newest: l.UpdatedAt, Expires: l.ExpiresAt,
		Options: len(l.Options), Precedents: len(l.Pinned),
		alike: alike(l),
	}
	var search strings.Builder
	note := func(text string) {
		if room := maxSearched - search.Len(); room > 0 {
			search.WriteString(strings.ToLower(upToBytes(text, room)))
			search.WriteByte('\n')
		}
	}
	note(l.Question)
	callers := map[[2]string]bool{}
	for _, a := range l.Asks {
		callers[[2]string{a.Credential, a.Thread}] = true
		s.Agents = named(s.Agents, a.Agent)
		if a.Thread != a.Credential { // else it names none
			s.Threads = named(s.Threads, a.Thread)
		}
		if a.Repo != "" {
			s.Repos = named(s.Repos, a.Repo)
		}
		if a.CreatedAt.Before(s.Since) {
			s.Since = a.CreatedAt
		}
		if a.Question != l.Question {
			note(a.Question)
		}
	}
	s.Waiting = len(callers)
	for _, list := range [][]string{s.Agents, s.Repos, {l.Stream}, l.Concepts, l.Files} {
		for _, text := range list {
			note(text)
		}
	}
	s.search = search.String()
	return s
}

// named adds a name to the few that are kept, once.
func named(names []string, name string) []string {
	if name = upTo(name, maxName); len(names) >= maxCalledBy || slices.Contains(names, name) {
		return names
	}
	return append(names, strings.Clone(name))
}

// alike is equal for lots that ask the same in the same words with the same options, in whatever order and spacing.
func alike(l revue.Lot) [sha256.Size]byte {
	var b strings.Builder
	b.WriteString(string(l.Kind))
	add := func(s string) {
		b.WriteByte(0) // no text has one
		b.WriteString(s)
	}
	add(strings.Join(strings.Fields(l.Question), " "))
	options := make([]string, len(l.Options))
	for i, o := range l.Options {
		options[i] = o.Value + "\x00" + o.Label
	}
	slices.Sort(options)
	for _, o := range options {
		add(o)
	}
	return sha256.Sum256([]byte(b.String()))
}

// firstLine is the first line of a text that is not blank, cut after some characters.
func firstLine(s string, limit int) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	cut := upTo(line, limit)
	if cut != line || strings.TrimSpace(rest) != "" {
		return strings.TrimRight(cut, " \t") + " …"
	}
	return strings.Clone(cut)
}

// upTo is the text up to a number of characters.
func upTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

// upToBytes is the text up to a number of bytes, whole characters of it.
func upToBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// find returns the lot with this id, nil where it is not there.
func (s *snapshot) find(id string) *openLot {
	if i := slices.IndexFunc(s.lots, func(l *openLot) bool { return l.ID == id }); i >= 0 {
		return s.lots[i]
	}
	return nil
}
