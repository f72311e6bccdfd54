package revue

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// ImportOptions tune [Import]. Nil is the default.
type ImportOptions struct {
	// Tokens takes over the hashes of tokens that the export may have, so that those tokens let in here: whoever wrote
	// the file may have made tokens of their own. Default: the tokens are listed and open nothing.
	Tokens bool
	// Progress is called now and then with the work that is done, and all: each event counts twice, when it was
	// checked and when it was written.
	Progress func(done, total int64)
}

// Imported says what an import came to.
type Imported struct {
	Contents // of the export

	// Changed says that something was written. An import that finds everything there changes nothing.
	Changed bool `json:"changed"`
	// Ahead says that the workspace has the whole history of the export and has gone on since: nothing was changed.
	Ahead bool `json:"ahead"`
	// TokensLeftOut counts the tokens that were not taken: their id, or their secret, is in use in the store already.
	TokensLeftOut int64 `json:"tokensLeftOut"`
}

// Import takes what [Export] wrote into a workspace: the one that is named, or that of the export where the name is "".
// It reads r twice. First it checks all of it: syntax, sizes, the digest of the file, the journal, and that everything
// is what the journal says and refers to what is there. What fails that is ErrInvalid, and changes nothing. Then it writes, in
// transactions of bounded size. Ids stay as they are.
//
// A workspace without a journal takes every export. One with a journal takes an export of the same history alone, any
// other is ErrConflict and changes nothing: where the export goes on from the workspace's last event the rest is added, and
// what there is becomes as it is in the export; where the workspace is as far, or further, nothing is changed.
//
// Until everything is written the workspace is refused with ErrUnavailable by every [Desk]. An import that was cut
// short is completed by the same import again, or by that of a later export of the same history.
//
// Notifiers are told of what waits for a human in what was imported, and of nothing that happened in it. Receipts are
// signed by this plane's keys from then on. Memory takes some hundred bytes for each thing, whatever its size, and one batch.
func Import(ctx context.Context, store Store, workspace string, r io.ReadSeeker, opts *ImportOptions) (Imported, error) {
	if opts == nil {
		opts = &ImportOptions{}
	}
	m := &importer{store: store, workspace: workspace, opts: opts}
	if err := m.check(ctx, r); err != nil {
		return Imported{}, err
	}
	if err := m.begin(ctx); err != nil {
		return Imported{}, err
	}
	if !m.complete {
		if err := m.write(ctx, r); err != nil {
			return Imported{}, err
		}
	}
	if err := m.takeTokens(ctx); err != nil {
		return Imported{}, err
	}
	if !m.complete {
		if err := m.finish(ctx); err != nil {
			return Imported{}, err
		}
	}
	return m.out, nil
}

// importer is one import.
type importer struct {
	store     Store
	workspace string
	opts      *ImportOptions
	header    exportHeader
	sum       string // of the file
	tokens    []keptToken
	out       Imported
	complete  bool  // the workspace has it all
	start     Event // its last event before
	mark      importMark
	at        Event // the event of the file at start's number
	atMark    Event // and at that of an import that was cut short
}

// badImport is what makes a file no export.
func badImport(line int64, why string, err error) error {
	return &Error{Code: CodeInvalid, Message: "export: line " + itoa(line) + ": " + why, Err: err}
}

// reader reads the lines of an export.
type exportReader struct {
	r    *bufio.Reader
	sum  hash.Hash
	line int64 // the number of the last line
	buf  []byte
}

func newExportReader(r io.Reader) *exportReader {
	return &exportReader{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
}

// next returns a line with its end. It is good until the next call.
func (x *exportReader) next() ([]byte, error) {
	if cap(x.buf) > 1<<20 {
		x.buf = nil
	}
	x.buf = x.buf[:0]
	for {
		part, err := x.r.ReadSlice('\n')
		x.buf = append(x.buf, part...)
		switch {
		case len(x.buf) > MaxExportLine:
			return nil, badImport(x.line+1, fmt.Sprintf("has more than %d bytes", MaxExportLine), nil)
		case err == nil:
			x.line++
			if !utf8.Valid(x.buf) {
				return nil, badImport(x.line, "is not valid UTF-8", nil)
			}
			return x.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, badImport(x.line+1, "the file is cut short: its last line is missing; export again", nil)
		default:
			return nil, err
		}
	}
}

// strictly decodes JSON that has no other members than those of v.
func strictly(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// readExport reads an export line by line. It checks the syntax of each, and at the end the count and the digest, which it returns.
func readExport(ctx context.Context, r io.ReadSeeker, begin func(exportHeader) error, visit func(e entry, size int) error) (string, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	x := newExportReader(r)
	line, err := x.next()
	if err != nil {
		return "", err
	}
	var h exportHeader
	// Another format, or a later version, may have other members.
	if err := json.Unmarshal(line, &struct {
		Format  *string `json:"format"`
		Version *int    `json:"version"`
	}{&h.Format, &h.Version}); err != nil || h.Format != exportFormat {
		return "", badImport(1, "this is no export of revue", err)
	}
	if h.Version != exportVersion {
		return "", badImport(1, fmt.Sprintf("the export has version %d, and this program reads version %d; take a newer revue", h.Version, exportVersion), nil)
	}
	if err := strictly(line, &h); err != nil {
		return "", badImport(1, "is malformed", err)
	}
	if h.Head.Seq < 0 {
		return "", badImport(1, "head: is no number of an event", nil)
	}
	if err := begin(h); err != nil {
		return "", err
	}
	x.sum.Write(line)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		line, err := x.next()
		if err != nil {
			return "", err
		}
		e, end, err := parseLine(line)
		if err != nil {
			return "", badImport(x.line, err.Error(), errors.Unwrap(err))
		}
		if end == nil {
			x.sum.Write(line)
			if err := visit(e, len(line)); err != nil {
				return "", located(x.line, err)
			}
			continue
		}
		sum := hex.EncodeToString(x.sum.Sum(nil))
		if end.Count != x.line-2 || end.SHA256 != sum {
			return "", badImport(x.line, "the file was changed or a part of it is missing: its digest is another; export again", nil)
		}
		if _, err := x.r.ReadByte(); !errors.Is(err, io.EOF) {
			return "", badImport(x.line+1, "there is more behind the end", err)
		}
		return sum, nil
	}
}

// located adds the line to what the checker found.
func located(line int64, err error) error {
	if errors.Is(err, errFault) {
		return badImport(line, MessageOf(err), err)
	}
	return err
}

// parseLine reads one line behind the first. Its errors say what is wrong.
func parseLine(line []byte) (e entry, end *exportEnd, err error) {
	var l struct {
		Type   string          `json:"type"`
		Value  json.RawMessage `json:"value"`
		Count  *int64          `json:"count"`
		SHA256 *string         `json:"sha256"`
	}
	if err := strictly(line, &l); err != nil {
		return e, nil, fmt.Errorf("is malformed: %w", err)
	}
	if l.Type == "end" {
		if l.Count == nil || l.SHA256 == nil || l.Value != nil {
			return e, nil, errors.New("is malformed")
		}
		return e, &exportEnd{l.Type, *l.Count, *l.SHA256}, nil
	}
	if l.Count != nil || l.SHA256 != nil {
		return e, nil, errors.New("is malformed")
	}
	var into any
	switch l.Type {
	case "event":
		e.event = &Event{}
		into = e.event
	case "lot":
		e.lot = &Lot{}
		into = e.lot
	case "ask":
		e.ask = &AskRecord{}
		into = e.ask
	case "decision":
		e.decision = &Decision{}
		into = e.decision
	case "context":
		e.context = &ContextItem{}
		into = e.context
	case "record":
		e.record = &exportRecord{}
		into = e.record
	default:
		return e, nil, errors.New("is of no type that this program knows")
	}
	if err := strictly(l.Value, into); err != nil {
		return e, nil, fmt.Errorf("the %s is malformed: %w", l.Type, err)
	}
	if why := e.bad(); why != "" {
		return e, nil, errors.New(l.Type + "." + why)
	}
	return e, nil, nil
}

// bad says what is wrong with an entry by itself, "" for nothing.
func (e entry) bad() string {
	switch {
	case e.event != nil:
		return e.event.bad()
	case e.lot != nil:
		return e.lot.bad()
	case e.ask != nil:
		return e.ask.bad()
	case e.decision != nil:
		return e.decision.bad()
	case e.context != nil:
		c := e.context
		return firstBad(badID("id", c.ID), badSize("kind", c.Kind, MaxContextKind), badSize("body", c.Body, MaxContext),
			badTerms("concepts", c.Concepts, MaxConcepts))
	default:
		return e.record.bad()
	}
}

func firstBad(whys ...string) string {
	i := slices.IndexFunc(whys, func(s string) bool { return s != "" })
	if i < 0 {
		return ""
	}
	return whys[i]
}

func badID(field, id string) string {
	if blank(id) || len(id) > 200 || badText(id) != "" || !shownWhole(id) {
		return field + " is no id"
	}
	return ""
}

func badSize(field, s string, limit int) string {
	switch bad := badText(s); {
	case bad != "":
		return field + " " + bad
	case len(s) > limit:
		return fmt.Sprintf("%s has %d bytes, the limit is %d", field, len(s), limit)
	}
	return ""
}

func badTerms(field string, terms []string, limit int) string {
	if len(terms) > limit {
		return fmt.Sprintf("%s are %d, the limit is %d", field, len(terms), limit)
	}
	for _, s := range terms {
		if why := badSize(field, s, MaxTerm); why != "" {
			return why
		}
	}
	return ""
}

func badOptions(opts []Option) string {
	if len(opts) > MaxOptions {
		return fmt.Sprintf("options are %d, the limit is %d", len(opts), MaxOptions)
	}
	for _, o := range opts {
		if blank(o.Value) || !shownWhole(o.Value) {
			return "options have a value that can't be shown"
		}
		for _, s := range []string{o.Value, o.Label, o.Consequence} {
			if why := badSize("options", s, MaxOptionText); why != "" {
				return why
			}
		}
	}
	return ""
}

// oneOf says that a field is none of what it may be.
func oneOf[T comparable](field string, v T, of ...T) string {
	if slices.Contains(of, v) {
		return ""
	}
	return field + " is none that this program knows"
}

func (e Event) bad() string {
	if why := oneOf("kind", e.Kind, EventLotOpened, EventAskJoined, EventAskMoved, EventLotAnswered, EventLotDismissed, EventLotReopened,
		EventLotExpired, EventAskReused, EventAskReturned, EventDecisionMade, EventDecisionConfirmed, EventDecisionSuperseded,
		EventDecisionCorrected, EventContextShared, EventContextRemoved, EventTokenCreated, EventTokenRevoked,
		EventMemberAdded, EventMemberRemoved, EventPurged); why != "" {
		return why
	}
	for _, s := range append([]string{e.Lot, e.Decision, e.Ref, e.Actor, e.Via, e.Digest, e.Prev, e.Hash, string(e.Verb)}, e.Asks...) {
		if why := badSize("an id", s, MaxTerm); why != "" {
			return why
		}
	}
	return ""
}

func (l Lot) bad() string {
	if l.Asks != nil {
		return "asks: they have lines of their own"
	}
	why := firstBad(badID("id", l.ID),
		oneOf("status", l.Status, StatusOpen, StatusAnswered, StatusDismissed, StatusExpired),
		oneOf("kind", l.Kind, KindDecision, KindApproval),
		badSize("question", l.Question, MaxQuestion), badSize("title", l.Title, MaxQuestion),
		badSize("recommendation", l.Recommendation, MaxContext), badSize("context", l.Context, MaxContext), badOptions(l.Options),
		badTerms("concepts", l.Concepts, MaxConcepts), badTerms("files", l.Files, MaxFiles), badSize("stream", l.Stream, MaxStream))
	if len(l.Affected) > MaxAffected {
		return fmt.Sprintf("affected are %d, the limit is %d", len(l.Affected), MaxAffected)
	}
	if (l.Status == StatusAnswered) != (l.Answer != nil) || (l.Status == StatusDismissed) != (l.Dismissed != nil) {
		return firstBad(why, "status does not fit how it ended")
	}
	if l.Answer != nil {
		return firstBad(why, badSize("answer", l.Answer.Value, MaxAnswer), badSize("note", l.Answer.Note, MaxNote),
			oneOf("remember", l.Answer.Remember, RememberDefault, RememberRule, RememberOnce))
	}
	return why
}

func (a AskRecord) bad() string {
	return firstBad(badID("id", a.ID), badID("credential", a.Credential), oneOf("verdict", a.Verdict, VerdictSame, VerdictLikely),
		badSize("question", a.Question, MaxQuestion), badSize("recommendation", a.Recommendation, MaxContext),
		badSize("context", a.Context, MaxContext), badOptions(a.Options), badSize("thread", a.Thread, MaxTerm),
		badTerms("concepts", a.Scope.Concepts, MaxConcepts), badTerms("files", a.Scope.Files, MaxFiles))
}

func (d Decision) bad() string {
	why := firstBad(badID("id", d.ID), badSize("question", d.Question, MaxQuestion), badSize("answer", d.Answer, MaxAnswer),
		badSize("note", d.Note, MaxNote), badOptions(d.Options), badTerms("concepts", d.Concepts, MaxConcepts),
		badTerms("files", d.Files, MaxFiles), oneOf("remember", d.Remember, RememberDefault, RememberRule, RememberOnce))
	for _, a := range d.Aliases {
		why = firstBad(why, badSize("aliases", a.Text, MaxQuestion))
	}
	for _, c := range d.Corrections {
		why = firstBad(why, badID("corrections", c.ID), badSize("corrections", c.Note, MaxNote),
			oneOf("corrections: verb", c.Verb, append(Verbs(), "")...))
		if c.DecisionID != d.ID || (c.Verb == "") != (c.Undoes != "") {
			why = firstBad(why, "corrections are of another decision, or of no kind")
		}
	}
	return why
}

// bad checks a record, and that it is of a kind that an export has.
func (r exportRecord) bad() string {
	if why := badSize("key", r.Key, 256); why != "" || r.Key == "" {
		return firstBad(why, "key is missing")
	}
	if len(r.Value) > 1<<20 {
		return "value has more than 1 MiB"
	}
	check := func(v any, key func() string) string {
		if err := strictly(r.Value, v); err != nil || key() != r.Key {
			return "value is no " + r.Kind + " of that key"
		}
		return ""
	}
	switch r.Kind {
	case recordReceipt:
		var v Receipt
		return firstBad(check(&v, func() string { return v.ID }), badSize("answer", v.Answer, MaxAnswer))
	case recordStream:
		var v Stream
		why := firstBad(check(&v, func() string { return v.Slug }), badSize("name", v.Name, maxStreamName))
		if v.Position < 0 || v.Position > maxStreamPosition {
			return firstBad(why, "position is none that a stream has")
		}
		return why
	case recordMember:
		var v Member
		return check(&v, func() string { return v.ID })
	case recordToken:
		var v keptToken
		why := firstBad(check(&v, func() string { return v.ID }), oneOf("kind", v.Kind, TokenAgent, TokenHuman, TokenSession),
			badSize("owner", v.Owner, 200), badSize("label", v.Label, 200))
		if v.Under != "" && v.Kind != TokenSession || v.Kind == TokenSession && v.Member == "" && v.Under == "" {
			why = firstBad(why, "under does not fit what it is")
		}
		if why == "" && (v.Secret != "" || v.Workspace != "" || v.Hash != "" && !isDigest(v.Hash) || v.Print != "" && (v.Hash != "" || !isDigest(v.Print))) {
			return "value has what no export has"
		}
		return why
	case recordNoted:
		var n int
		return check(&n, func() string { return r.Key })
	default:
		return "kind is none that an export has"
	}
}

// isDigest reports whether s is a SHA-256 in hex.
func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

// check reads the whole file and the state of the workspace, and changes nothing.
func (m *importer) check(ctx context.Context, r io.ReadSeeker) error {
	c := newChecker()
	sum, err := readExport(ctx, r, func(h exportHeader) error {
		m.header = h
		if m.workspace == "" {
			m.workspace = h.Workspace
			if why := badID("workspace", m.workspace); why != "" {
				return invalid("workspace", "the export has no name for it; give it one")
			}
		} else if name, err := workspaceName(m.workspace); err != nil {
			return err
		} else {
			m.workspace = name
		}
		m.out.Workspace, m.out.Events, m.out.Head = m.workspace, h.Head.Seq, Event{Seq: h.Head.Seq, Hash: h.Head.Hash}.head()
		return m.look(ctx)
	}, func(e entry, _ int) error {
		m.out.count(e)
		if e.event != nil {
			switch e.event.Seq {
			case m.start.Seq:
				m.at = *e.event
			case m.mark.Head.Seq:
				m.atMark = *e.event
			}
			if m.start.Seq == m.mark.Head.Seq {
				m.atMark = m.at
			}
			if e.event.Seq%progressEvery == 0 {
				m.progress(e.event.Seq)
			}
		}
		if e.record != nil && e.record.Kind == recordToken {
			var tok keptToken
			if err := decodeRecord(e.record.Value, &tok); err != nil {
				return err
			}
			if err := c.token(tok, true); err != nil {
				return err
			}
			tok.Workspace = m.workspace
			m.tokens = append(m.tokens, tok)
			return nil
		}
		return c.check(e)
	})
	if err == nil {
		if err = c.end(); err == nil {
			err = c.endTokens()
		}
		if err == nil && (c.head.Seq != m.header.Head.Seq || c.head.Hash != m.header.Head.Hash) {
			err = fault("the journal ends with another event than the first line says")
		}
		if errors.Is(err, errFault) && errors.Is(err, ErrInternal) {
			err = &Error{Code: CodeInvalid, Message: "export: " + MessageOf(err), Err: err}
		}
	}
	m.sum = sum
	return err
}

func (m *importer) progress(done Seq) {
	if m.opts.Progress != nil {
		m.opts.Progress(int64(done), 2*int64(m.header.Head.Seq))
	}
}

// look reads how far the workspace is.
func (m *importer) look(ctx context.Context) error {
	return m.store.View(ctx, m.workspace, func(s Tx) (err error) {
		if m.start, err = s.Head(); err != nil {
			return err
		}
		var marked bool
		if m.mark, marked, err = readImportMark(s); err != nil {
			return err
		}
		m.complete = m.mark.Done && m.start.Seq >= m.header.Head.Seq && (marked || m.start.Seq > 0)
		if m.complete && m.header.Head.Seq > 0 {
			at, err := s.Events(m.header.Head.Seq-1, 1)
			if err != nil {
				return err
			}
			if len(at) != 1 || at[0].Hash != m.header.Head.Hash {
				return m.conflict()
			}
			m.out.Ahead = m.start.Seq > m.header.Head.Seq
		}
		return nil
	})
}

func (m *importer) conflict() error {
	return &Error{
		Code: CodeConflict, ID: m.workspace,
		Message: "workspace " + clip(m.workspace, 80) + " has another history than the export; import it into a new workspace",
	}
}

// begin marks the workspace as one that is being imported.
func (m *importer) begin(ctx context.Context) error {
	if m.complete {
		return nil
	}
	switch {
	case m.start.Seq > m.header.Head.Seq, m.start.Seq > 0 && m.at.Hash != m.start.Hash:
		return m.conflict()
	case !m.mark.Done && m.mark.Head.Seq > 0 && m.atMark.Hash != m.mark.Head.Hash:
		return &Error{
			Code: CodeConflict, ID: m.workspace,
			Message: "an import of another export into workspace " + clip(m.workspace, 80) + " was cut short; complete it first, or import a later export of the same history",
		}
	}
	return m.update(ctx, m.workspace, func(s Tx) error {
		head, err := s.Head()
		if err != nil {
			return err
		}
		if head.Seq != m.start.Seq || head.Hash != m.start.Hash {
			return &Error{Code: CodeConflict, ID: m.workspace, Message: "the workspace changed while it was compared with the export; import again"}
		}
		return putJSON(s, recordImport, "journal", importMark{Head: m.header.Head})
	})
}

// update runs a transaction that changes something.
func (m *importer) update(ctx context.Context, workspace string, fn func(Tx) error) error {
	err := m.store.Update(ctx, workspace, fn)
	m.out.Changed = m.out.Changed || err == nil
	return err
}

// The bounds of one transaction of an import.
const (
	importLines = 500
	importBytes = 4 << 20
)

// write reads the file again and writes what is in it.
func (m *importer) write(ctx context.Context, r io.ReadSeeker) error {
	var batch []entry
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := m.update(ctx, m.workspace, func(s Tx) error {
			head, err := s.Head()
			for _, e := range batch {
				if err != nil {
					return err
				}
				if e.event == nil {
					err = e.put(s)
					continue
				}
				switch {
				case e.event.Seq <= head.Seq: // from the import that was cut short, or from before
				case e.event.Prev != head.Hash:
					return m.conflict()
				default:
					err = s.Append(*e.event)
					head = *e.event
				}
			}
			return err
		})
		for _, e := range slices.Backward(batch) {
			if e.event != nil {
				m.progress(m.header.Head.Seq + e.event.Seq)
				break
			}
		}
		batch, size = batch[:0], 0
		return err
	}
	sum, err := readExport(ctx, r, func(exportHeader) error { return nil }, func(e entry, n int) error {
		if e.record != nil && e.record.Kind == recordToken {
			return nil
		}
		if len(batch) >= importLines || size+n > importBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, e), size+n
		return nil
	})
	if err == nil && sum != m.sum {
		err = &Error{Code: CodeInvalid, Message: "export: the file changed while it was read; import it again"}
	}
	if err == nil {
		err = flush()
	}
	return err
}

// put writes what is no event.
func (e entry) put(s Tx) error {
	switch {
	case e.lot != nil:
		lot := *e.lot
		have, err := s.Lot(lot.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil {
			lot = lot.claimedAs(have)
		}
		return s.PutLot(lot)
	case e.ask != nil:
		ask := *e.ask
		have, err := s.Ask(ask.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil && ask.ReturnedAt.IsZero() && ask.LotID == have.LotID {
			ask.ReturnedAt = have.ReturnedAt
		}
		return s.PutAsk(ask)
	case e.decision != nil:
		return s.PutDecision(*e.decision)
	case e.context != nil:
		return s.PutContext(*e.context)
	default:
		var compact bytes.Buffer
		if err := json.Compact(&compact, e.record.Value); err != nil {
			return err
		}
		return s.PutRecord(e.record.Kind, e.record.Key, compact.Bytes())
	}
}

// takeTokens lists the workspace and its tokens. What is there already stays as it is: a token that was revoked here
// stays revoked.
func (m *importer) takeTokens(ctx context.Context) error {
	id := newID("ws_")
	missing := func(s Tx) (put []keptToken, left int64, listed bool, err error) {
		err = readJSON(s, recordWorkspace, m.workspace, &Workspace{})
		listed = err == nil
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, 0, false, err
		}
		for _, tok := range m.tokens {
			if !m.opts.Tokens || tok.Kind == TokenSession {
				tok.Print, tok.Hash = tok.print(), ""
			}
			var have keptToken
			err := readJSON(s, recordToken, tok.ID, &have)
			there := err == nil
			if err != nil && !errors.Is(err, ErrNotFound) {
				return nil, 0, false, err
			}
			if there && (have.Workspace != m.workspace || have.Kind != tok.Kind) {
				left++
				continue
			}
			if tok.Hash != "" {
				id, err := s.Record(recordSecret, tok.Hash)
				if err != nil && !errors.Is(err, ErrNotFound) {
					return nil, 0, false, err
				}
				if err == nil && string(id) != tok.ID { // it is listed, and opens nothing
					left++
					tok.Print, tok.Hash = tok.print(), ""
				}
			}
			if there {
				revoked := have.RevokedAt.IsZero() && !tok.RevokedAt.IsZero()
				if revoked { // revoked stays revoked, on either side
					have.RevokedAt = tok.RevokedAt
				}
				let := have.Hash == "" && tok.Hash != ""
				if let { // it was taken over without its hash before
					tok.RevokedAt = have.RevokedAt
					have = tok
				}
				if !revoked && !let {
					continue
				}
				tok = have
			}
			put = append(put, tok)
		}
		return put, left, listed, nil
	}
	done := false
	err := m.store.View(ctx, "", func(s Tx) error {
		put, left, listed, err := missing(s)
		m.out.TokensLeftOut = left
		done = err == nil && listed && len(put) == 0
		return err
	})
	if err != nil || done {
		return err
	}
	return m.update(ctx, "", func(s Tx) error {
		put, left, listed, err := missing(s)
		if err != nil {
			return err
		}
		m.out.TokensLeftOut = left
		if !listed {
			if err := putJSON(s, recordWorkspace, m.workspace, Workspace{ID: id, Name: m.workspace, CreatedAt: s.Now()}); err != nil {
				return err
			}
		}
		for _, tok := range put {
			if tok.Hash != "" {
				if err := s.PutRecord(recordSecret, tok.Hash, []byte(tok.ID)); err != nil {
					return err
				}
			}
			if err := putJSON(s, recordToken, tok.ID, tok); err != nil {
				return err
			}
		}
		return nil
	})
}

// finish opens the workspace.
func (m *importer) finish(ctx context.Context) error {
	return m.update(ctx, m.workspace, func(s Tx) error {
		head, err := s.Head()
		if err != nil {
			return err
		}
		if head.Seq != m.header.Head.Seq || head.Hash != m.header.Head.Hash {
			return m.conflict() // somebody wrote past the mark
		}
		return putJSON(s, recordImport, "journal", importMark{Head: m.header.Head, Done: true})
	})
}
