package revue

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"time"
)

// The format of an export. A line of text is one JSON object, in UTF-8:
//
//	{"format":"revue-export","version":1,"workspace":…,"exportedAt":…,"head":{"seq":…,"hash":…},"tokens":false}
//	{"type":"record","value":{"kind":"stream","key":…,"value":{…}}}
//	{"type":"event","value":{…}}
//	{"type":"lot","value":{…}}
//	…
//	{"type":"end","count":…,"sha256":…}
//
// The first line says what follows; head is the last event of the journal. The last line has the number of lines between
// the two and the SHA-256 of all bytes before it, so that a file that was cut or changed is noticed. Between them are
// the records of the kinds stream, member and noted, then the journal in order. What an event recorded follows it at
// once: a lot, an ask, a decision, a shared note ("context"), each as it is now, and behind a lot or an ask its receipt.
// At the end come receipts that nothing points to any more, and the tokens.
const (
	exportFormat  = "revue-export"
	exportVersion = 1
)

// MaxExportLine bounds one line of an export, in bytes.
const MaxExportLine = 64 << 20

// Contents is what a workspace was found to hold.
type Contents struct {
	Workspace string `json:"workspace"`
	Events    Seq    `json:"events"` // the number of the last event
	Head      string `json:"head"`   // that event as SEQ:HASH, "" for none
	Lots      int64  `json:"lots"`
	Asks      int64  `json:"asks"`
	Decisions int64  `json:"decisions"`
	Contexts  int64  `json:"contexts"`
	Receipts  int64  `json:"receipts"`
	Records   int64  `json:"records"` // streams, members and the like
	Tokens    int64  `json:"tokens"`
}

// ExportOptions tune [Export]. Nil is the default.
type ExportOptions struct {
	// Tokens puts the hashes of the tokens into the export, so that a plane that takes them over lets the same tokens
	// in. A hash does not give its token away. Default: tokens are listed without, and open nothing anywhere. Sessions
	// of the web inbox are listed without in any case.
	Tokens bool
	// Progress is called now and then with the number of events that are written, and of all.
	Progress func(done, total int64)
}

// Exported says what an export holds.
type Exported struct {
	Contents

	SHA256 string `json:"sha256"` // of all lines before the last one
}

// Export writes everything of a workspace as JSON Lines: its journal, lots, asks, decisions, shared context, receipts,
// streams, members and tokens. Cursors of notifiers, ids of calls, the last use of tokens and signing keys stay behind,
// and so do the hashes of tokens, unless opts says otherwise.
//
// It is one snapshot: what is committed meanwhile is not in it. Tokens alone are read after it. Memory is bounded by the
// largest things, not by their number; only the receipts of a workspace in which dismissals were taken back are listed
// at once. A workspace of which the store knows nothing is exported empty. An error of w is returned as it is.
func Export(ctx context.Context, store Store, workspace string, w io.Writer, opts *ExportOptions) (Exported, error) {
	if opts == nil {
		opts = &ExportOptions{}
	}
	if workspace == "" {
		return Exported{}, invalid("workspace", "is missing; name one")
	}
	var out Exported
	x := newExporter(w, &out.Contents)
	err := store.View(ctx, workspace, func(s Tx) error {
		if err := whole(s, workspace); err != nil {
			return err
		}
		head, err := s.Head()
		if err != nil {
			return err
		}
		out.Workspace, out.Events, out.Head = workspace, head.Seq, head.head()
		err = x.line(exportHeader{
			Format: exportFormat, Version: exportVersion, Workspace: workspace, ExportedAt: s.Now(),
			Head: exportHead{head.Seq, head.Hash}, Tokens: opts.Tokens,
		})
		if err != nil {
			return err
		}
		return walk(ctx, s, func(e entry) error {
			if e.event != nil && e.event.Kind == EventTokenCreated {
				x.made[e.event.Ref] = e.event.Digest
			}
			if e.event != nil && opts.Progress != nil && (e.event.Seq%progressEvery == 0 || e.event.Seq == head.Seq) {
				opts.Progress(int64(e.event.Seq), int64(head.Seq))
			}
			return x.entry(e)
		})
	})
	if err == nil {
		err = x.tokens(ctx, store, workspace, opts.Tokens)
	}
	if err == nil {
		out.SHA256, err = x.end()
	}
	if err != nil {
		return Exported{}, err
	}
	return out, nil
}

// progressEvery is how many events lie between two reports of progress.
const progressEvery = 200

type exportHead struct {
	Seq  Seq    `json:"seq"`
	Hash string `json:"hash"`
}

type exportHeader struct {
	Format     string     `json:"format"`
	Version    int        `json:"version"`
	Workspace  string     `json:"workspace"`
	ExportedAt time.Time  `json:"exportedAt"`
	Head       exportHead `json:"head"`
	Tokens     bool       `json:"tokens"`
}

type exportLine struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

type exportEnd struct {
	Type   string `json:"type"` // "end"
	Count  int64  `json:"count"`
	SHA256 string `json:"sha256"`
}

type exportRecord struct {
	Kind  string          `json:"kind"`
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// entry is one thing of a workspace in its place. Exactly one field is set.
type entry struct {
	event    *Event
	lot      *Lot
	ask      *AskRecord
	decision *Decision
	context  *ContextItem
	record   *exportRecord
}

// line returns the entry as it is written.
func (e entry) line() exportLine {
	switch {
	case e.event != nil:
		return exportLine{"event", e.event}
	case e.lot != nil:
		return exportLine{"lot", e.lot}
	case e.ask != nil:
		return exportLine{"ask", e.ask}
	case e.decision != nil:
		return exportLine{"decision", e.decision}
	case e.context != nil:
		return exportLine{"context", e.context}
	default:
		return exportLine{"record", e.record}
	}
}

// count adds an entry to what was found.
func (c *Contents) count(e entry) {
	switch {
	case e.lot != nil:
		c.Lots++
	case e.ask != nil:
		c.Asks++
	case e.decision != nil:
		c.Decisions++
	case e.context != nil:
		c.Contexts++
	case e.record == nil:
	case e.record.Kind == recordReceipt:
		c.Receipts++
	case e.record.Kind == recordToken:
		c.Tokens++
	default:
		c.Records++
	}
}

// exporter writes lines and keeps their digest.
type exporter struct {
	w     *bufio.Writer
	sum   hash.Hash
	buf   bytes.Buffer
	count int64 // of lines behind the first
	found *Contents
	made  map[string]string // the tokens that the journal made, and with which digest
}

func newExporter(w io.Writer, found *Contents) *exporter {
	x := &exporter{sum: sha256.New(), found: found, count: -1, made: map[string]string{}}
	x.w = bufio.NewWriterSize(w, 64<<10)
	return x
}

// encode returns a value as one line. Text that is no UTF-8 is refused: JSON would change it without a word.
func (x *exporter) encode(v any) ([]byte, error) {
	if x.buf.Cap() > 1<<20 {
		x.buf = bytes.Buffer{}
	}
	x.buf.Reset()
	enc := json.NewEncoder(&x.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &Error{Code: CodeInternal, Message: "what is stored can't be exported", Err: err}
	}
	switch b := x.buf.Bytes(); {
	case replacedText(b):
		return nil, &Error{Code: CodeInternal, Message: "what is stored can't be exported: a text in it is not valid UTF-8"}
	case len(b) > MaxExportLine:
		return nil, &Error{Code: CodeTooLarge, Message: "what is stored can't be exported: a thing is larger than a line may be"}
	default:
		return b, nil
	}
}

// replacedText reports whether the encoder of JSON wrote an escape for a byte that is no UTF-8.
func replacedText(b []byte) bool {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(`\ufffd`))
		if i < 0 {
			return false
		}
		i += at
		slashes := 0
		for i > slashes && b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		at = i + 1
	}
}

func (x *exporter) line(v any) error {
	b, err := x.encode(v)
	if err != nil {
		return err
	}
	x.count++
	x.sum.Write(b)
	_, err = x.w.Write(b)
	return err
}

func (x *exporter) entry(e entry) error {
	x.found.count(e)
	return x.line(e.line())
}

// tokens writes the tokens that the journal made, which are kept with those of all. One of which a copy of the workspace
// is beside the original is listed without its hash in the copy: it is the original's.
func (x *exporter) tokens(ctx context.Context, store Store, workspace string, hashes bool) error {
	var mine []keptToken
	err := store.View(ctx, "", func(s Tx) error {
		mine = nil
		all, err := listJSON[keptToken](s, recordToken)
		for _, tok := range all {
			digest, made := x.made[tok.ID]
			switch {
			case !made: // it was not there when the journal was read, or nobody got to know its secret
				continue
			case tok.Workspace != workspace && digest != tok.digest():
				continue
			case tok.Workspace != workspace || !hashes || tok.Kind == TokenSession: // browsers sign in anew
				tok.Print, tok.Hash = tok.print(), ""
			}
			tok.Workspace, tok.Secret = "", ""
			mine = append(mine, tok)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, tok := range mine {
		value, err := x.encode(tok)
		if err != nil {
			return err
		}
		value = bytes.Clone(bytes.TrimSuffix(value, []byte("\n")))
		if err := x.entry(entry{record: &exportRecord{recordToken, tok.ID, value}}); err != nil {
			return err
		}
	}
	return nil
}

// end writes the last line and returns the digest in it.
func (x *exporter) end() (string, error) {
	sum := hex.EncodeToString(x.sum.Sum(nil))
	if err := x.line(exportEnd{Type: "end", Count: x.count, SHA256: sum}); err != nil {
		return "", err
	}
	return sum, x.w.Flush()
}

// How many things of a kind are read at once: the large ones few at a time.
const (
	walkEvents = 500
	walkThings = 50
)

// pages reads the things of a kind in the order of their events.
type pages[T any] struct {
	find func(after Seq) ([]T, error)
	seq  func(*T) Seq
	page []T
	last Seq
	done bool
}

// upTo visits the things whose event is at or before a number.
func (p *pages[T]) upTo(seq Seq, visit func(*T) error) error {
	for {
		if len(p.page) == 0 && !p.done {
			page, err := p.find(p.last)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				p.done = true
			} else if last := p.seq(&page[len(page)-1]); last <= p.last {
				return &Error{Code: CodeInternal, Message: "what is stored can't be read in order: something has no number of an event"}
			} else {
				p.page, p.last = page, last
			}
		}
		if len(p.page) == 0 || p.seq(&p.page[0]) > seq {
			return nil
		}
		if err := visit(&p.page[0]); err != nil {
			return err
		}
		p.page = p.page[1:]
	}
}

// walk visits everything of a workspace in the order of an export, apart from its tokens.
func walk(ctx context.Context, s Tx, visit func(entry) error) error {
	for _, kind := range []string{recordStream, recordMember, recordNoted} {
		records, err := s.ListRecords(kind)
		if err != nil {
			return err
		}
		for _, r := range records {
			if err := visit(entry{record: &exportRecord{kind, r.Key, r.Value}}); err != nil {
				return err
			}
		}
	}
	receipt := func(id string) error {
		value, err := s.Record(recordReceipt, id)
		if id == "" || errors.Is(err, ErrNotFound) { // who checks what is visited notes that it is missing
			return nil
		}
		if err != nil {
			return err
		}
		return visit(entry{record: &exportRecord{recordReceipt, id, value}})
	}
	lots := pages[Lot]{
		find: func(after Seq) ([]Lot, error) { return s.FindLots(LotQuery{After: after, Limit: walkThings}) },
		seq:  func(l *Lot) Seq { return l.Seq },
	}
	decisions := pages[Decision]{
		find: func(after Seq) ([]Decision, error) {
			return s.FindDecisions(DecisionQuery{After: after, Limit: walkThings})
		},
		seq: func(d *Decision) Seq { return d.Seq },
	}
	contexts := pages[ContextItem]{
		find: func(after Seq) ([]ContextItem, error) {
			return s.FindContexts(ContextQuery{After: after, Limit: walkThings})
		},
		seq: func(c *ContextItem) Seq { return c.Seq },
	}
	upTo := func(seq Seq, recorded []string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := lots.upTo(seq, func(l *Lot) error {
			l.Asks = nil
			if err := visit(entry{lot: l}); err != nil {
				return err
			}
			return receipt(l.ReceiptID)
		})
		if err != nil {
			return err
		}
		for _, id := range recorded {
			a, err := s.Ask(id)
			if errors.Is(err, ErrNotFound) || err == nil && a.Seq != seq { // it was moved, and recorded again
				continue
			}
			if err == nil {
				err = visit(entry{ask: &a})
			}
			if err == nil && a.Reused != nil {
				err = receipt(a.Reused.ReceiptID)
			}
			if err != nil {
				return err
			}
		}
		if err := decisions.upTo(seq, func(d *Decision) error { return visit(entry{decision: d}) }); err != nil {
			return err
		}
		return contexts.upTo(seq, func(c *ContextItem) error { return visit(entry{context: c}) })
	}
	reopened := false
	for after := Seq(0); ; {
		events, err := s.Events(after, walkEvents)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		for i := range events {
			after = events[i].Seq
			reopened = reopened || events[i].Kind == EventLotReopened
			if err := visit(entry{event: &events[i]}); err != nil {
				return err
			}
			var recorded []string // asks are found by their ids: a store may have no order of them
			switch events[i].Kind {
			case EventLotOpened, EventAskJoined, EventAskReused:
				recorded = events[i].Asks
			}
			if err := upTo(after, recorded); err != nil {
				return err
			}
		}
	}
	if err := upTo(nothingRecalled, nil); err != nil { // what no event stands for
		return err
	}
	if !reopened {
		return nil
	}
	return leftReceipts(s, visit)
}

// leftReceipts visits the receipts of dismissals that were taken back: their lots no longer point to them.
func leftReceipts(s Tx, visit func(entry) error) error {
	records, err := s.ListRecords(recordReceipt)
	if err != nil {
		return err
	}
	for _, rec := range records {
		var r Receipt
		if err := decodeRecord(rec.Value, &r); err != nil {
			return err
		}
		if r.Lot != "" {
			lot, err := s.Lot(r.Lot)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if lot.ReceiptID == rec.Key {
				continue
			}
		} else {
			ask, err := s.Ask(r.Ask)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if ask.Reused != nil && ask.Reused.ReceiptID == rec.Key {
				continue
			}
		}
		if err := visit(entry{record: &exportRecord{recordReceipt, rec.Key, rec.Value}}); err != nil {
			return err
		}
	}
	return nil
}
