package revue

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// normalized returns the ask with defaults filled in, or ErrInvalid that names the field and the limit.
// It is idempotent.
func (a Ask) normalized() (Ask, error) {
	switch a.Kind {
	case "":
		a.Kind = KindDecision
	case KindDecision, KindApproval:
	default:
		return a, invalid("kind", "is neither decision nor approval")
	}
	name := "question"
	if a.Kind == KindApproval {
		name = "title"
	}
	var err error
	if a.Question, err = text(name, a.Question, MaxQuestion, true); err != nil {
		return a, err
	}
	if a.Context, err = text("context", a.Context, MaxContext, false); err != nil {
		return a, err
	}
	if a.Recommendation, err = text("recommendation", a.Recommendation, MaxQuestion, false); err != nil {
		return a, err
	}
	if a.Options, err = normalizeOptions(a.Options); err != nil {
		return a, err
	}
	if a.Recommendation, err = recommended(a.Recommendation, a.Options); err != nil {
		return a, err
	}
	if a.Concepts, err = terms("concepts", a.Concepts, MaxConcepts); err != nil {
		return a, err
	}
	if a.Files, err = terms("files", a.Files, MaxFiles); err != nil {
		return a, err
	}
	if a.Affected, err = normalizeAffected(a.Affected); err != nil {
		return a, err
	}
	if a.Stream, err = normalizeStream(a.Stream); err != nil {
		return a, err
	}
	if a.DecisionRef, err = text("decisionRef", strings.TrimSpace(a.DecisionRef), MaxTerm, false); err != nil {
		return a, err
	}
	a.Wait = min(max(a.Wait, 0), MaxWait)
	if a.Kind == KindApproval {
		return a.normalizedApproval()
	}
	if len(a.Affected) > 0 {
		return a, invalid("affected", "only an approval has an affected list; leave it out")
	}
	a.Expires = 0
	return a, nil
}

func (a Ask) normalizedApproval() (Ask, error) {
	switch {
	case len(a.Options) > 0:
		return a, invalid("options", "an approval has the two answers approved and declined; leave options out")
	case a.Recommendation != "":
		return a, invalid("recommendation", "an approval recommends nothing; leave it out")
	case a.DecisionRef != "":
		return a, invalid("decisionRef", "an approval is taken up by the identical call; leave it out")
	}
	if a.Expires == 0 {
		a.Expires = DefaultExpiry
	}
	a.Expires = min(max(a.Expires, MinExpiry), MaxExpiry)
	return a, nil
}

// text checks one text field and folds its line ends. A text of which nothing can be seen is refused where
// it is required, and empty elsewhere.
func text(field, s string, limit int, required bool) (string, error) {
	if bad := badText(s); bad != "" {
		return "", invalid(field, bad+"; send plain UTF-8 text")
	}
	s = normalizeText(s)
	if len(s) > limit {
		return "", invalid(field, fmt.Sprintf("has %d bytes, the limit is %d; shorten it", len(s), limit))
	}
	if blank(s) {
		if required {
			return "", invalid(field, "is blank; say what is to be decided")
		}
		return "", nil
	}
	return s, nil
}

func normalizeOptions(in []Option) ([]Option, error) {
	if len(in) > MaxOptions {
		return nil, invalid("options", fmt.Sprintf("there are %d, the limit is %d", len(in), MaxOptions))
	}
	var out []Option
	seen := map[string]bool{}
	for i, o := range in {
		field := func(name string) string { return fmt.Sprintf("options[%d].%s", i, name) }
		for _, f := range []struct{ name, text string }{{"value", o.Value}, {"label", o.Label}, {"consequence", o.Consequence}} {
			if bad := badText(f.text); bad != "" {
				return nil, invalid(field(f.name), bad+"; send plain UTF-8 text")
			}
			if len(f.text) > MaxOptionText {
				return nil, invalid(field(f.name), fmt.Sprintf("has %d bytes, the limit is %d; shorten it", len(f.text), MaxOptionText))
			}
		}
		o.Label, o.Consequence = normalizeText(o.Label), normalizeText(o.Consequence)
		if blank(o.Label) {
			o.Label = o.Value
		}
		if o.Value == "" {
			o.Value = o.Label
		}
		if blank(o.Consequence) {
			o.Consequence = ""
		}
		switch {
		case blank(o.Value):
			return nil, invalid(field("value"), "is blank; every option needs a value the human can read")
		case !shownWhole(o.Value):
			return nil, invalid(field("value"), "has a control or bidirectional character, a tab or a line break; use plain text")
		case seen[strings.TrimSpace(o.Value)]:
			return nil, invalid(field("value"), "is there twice; every option needs a value of its own")
		}
		seen[strings.TrimSpace(o.Value)] = true
		out = append(out, o)
	}
	return out, nil
}

// recommended returns the value of the option that is recommended by its value or its label.
func recommended(rec string, opts []Option) (string, error) {
	if rec == "" || len(opts) == 0 {
		return rec, nil
	}
	for _, o := range opts {
		if o.Value == rec {
			return o.Value, nil
		}
	}
	for _, same := range []func(o Option) bool{
		func(o Option) bool { return o.Label == rec },
		func(o Option) bool { return strings.TrimSpace(o.Value) == strings.TrimSpace(rec) },
	} {
		if i := slices.IndexFunc(opts, same); i >= 0 {
			return opts[i].Value, nil
		}
	}
	return "", invalid("recommendation", "is none of the options; name one by its value, or leave it out")
}

// terms checks a set of short texts: trimmed, without blanks and repetitions.
func terms(field string, in []string, limit int) ([]string, error) {
	var out []string
	for i, s := range in {
		s, err := text(fmt.Sprintf("%s[%d]", field, i), strings.TrimSpace(s), MaxTerm, false)
		if err != nil {
			return nil, err
		}
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
		if len(out) > limit {
			return nil, invalid(field, fmt.Sprintf("there are more than %d; name fewer", limit))
		}
	}
	return out, nil
}

func normalizeAffected(in []Affected) ([]Affected, error) {
	if len(in) > MaxAffected {
		return nil, invalid("affected", fmt.Sprintf("there are %d, the limit is %d; summarize them", len(in), MaxAffected))
	}
	var out []Affected
	for i, x := range in {
		var err error
		if x.Label, err = text(fmt.Sprintf("affected[%d].label", i), x.Label, MaxOptionText, true); err != nil {
			return nil, err
		}
		if x.Meta, err = text(fmt.Sprintf("affected[%d].meta", i), x.Meta, MaxOptionText, false); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func normalizeStream(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" {
		return DefaultStream, nil
	}
	ok := len(s) <= MaxStream
	for i, r := range s {
		alnum := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		ok = ok && (alnum || i > 0 && (r == '-' || r == '_' || r == '.'))
	}
	if !ok {
		return "", invalid("stream", fmt.Sprintf("is no slug; use up to %d of a-z, 0-9, '-', '_' and '.', as in web-app", MaxStream))
	}
	return s, nil
}

// normalized checks what a transport says of an agent.
func (a Agent) normalized() (Agent, error) {
	if a.Workspace == "" {
		return a, invalid("workspace", "is missing; bind the agent to one")
	}
	if a.Credential == "" {
		return a, invalid("credential", "is missing; bind the agent to one")
	}
	var err error
	if a.Thread, err = text("thread", a.Thread, MaxTerm, false); err != nil {
		return a, err
	}
	if a.Thread == "" {
		a.Thread = a.Credential
	}
	a.Repo = NormalizeRepo(a.Repo)
	a.Call, err = callID(a.Call)
	return a, err
}

// caller is who may wait on and collect an approval.
func (a Agent) caller() string {
	if a.AnyThread {
		return a.Credential
	}
	return itoa(int64(len(a.Credential))) + ":" + a.Credential + a.Thread
}

func (q Query) normalized() (Query, error) {
	var err error
	if q.Text, err = text("query", q.Text, MaxQuestion, true); err != nil {
		return q, err
	}
	if q.Concepts, err = terms("concepts", q.Concepts, MaxConcepts); err != nil {
		return q, err
	}
	if q.Files, err = terms("files", q.Files, MaxFiles); err != nil {
		return q, err
	}
	if q.Limit <= 0 {
		q.Limit = 10
	}
	q.Limit = min(q.Limit, 100)
	return q, nil
}

func (c ContextItem) normalized() (ContextItem, error) {
	var err error
	if c.Kind, err = text("kind", strings.TrimSpace(c.Kind), MaxContextKind, true); err != nil {
		return c, err
	}
	if !shownWhole(c.Kind) {
		return c, invalid("kind", "has a control character; use a word such as finding, risk, evidence or note")
	}
	if c.Body, err = text("body", c.Body, MaxContext, true); err != nil {
		return c, err
	}
	c.Concepts, err = terms("concepts", c.Concepts, MaxConcepts)
	return c, err
}

// normalized checks an answer against the lot it is for. It does not look at the state of the lot.
func (a Answer) normalized(l Lot) (Answer, error) {
	if a.Value != "" && a.Text != "" {
		return a, invalid("text", "give either value or text")
	}
	if bad := badText(a.Value); bad != "" {
		return a, invalid("value", bad)
	}
	var err error
	if a.Text, err = text("text", a.Text, MaxAnswer, false); err != nil {
		return a, err
	}
	if a.Note, err = text("note", a.Note, MaxNote, false); err != nil {
		return a, err
	}
	switch a.Remember {
	case "":
		a.Remember = RememberDefault
	case RememberDefault, RememberRule, RememberOnce:
	default:
		return a, invalid("remember", "is none of default, rule and once")
	}
	if l.Kind == KindApproval {
		return a.forApproval()
	}
	if blank(a.Value) && a.Text == "" && a.Confirms == "" {
		return a, invalid("value", "is blank; silence is not an answer: give the value of an option, or text")
	}
	if a.Value != "" && len(l.Options) == 0 {
		// Nothing is offered, so there is nothing a value could be mistaken for.
		if a.Text, err = text("value", a.Value, MaxAnswer, true); err != nil {
			return a, err
		}
		a.Value = ""
	}
	if a.Value != "" && !slices.ContainsFunc(l.Options, func(o Option) bool { return o.Value == a.Value }) {
		return a, invalid("value", "is none of the options; name one by its value, or give your own words as text")
	}
	return a, nil
}

func (a Answer) forApproval() (Answer, error) {
	switch {
	case a.Text != "" || a.Value != Approved && a.Value != Declined:
		return a, invalid("value", "an approval is approved or declined; give one of these words as value")
	case a.Remember != RememberDefault && a.Remember != RememberOnce:
		return a, invalid("remember", "an approval is never remembered")
	case a.Confirms != "":
		return a, invalid("confirms", "an approval confirms no precedent")
	}
	a.Remember = RememberOnce
	return a, nil
}

func (d Dismissal) normalized() (Dismissal, error) {
	var err error
	d.Reason, err = text("reason", d.Reason, MaxNote, false)
	return d, err
}

// normalized checks a correction and turns After into Expires.
func (c Correction) normalized(now time.Time) (Correction, error) {
	var err error
	if c.Note, err = text("note", c.Note, MaxNote, false); err != nil {
		return c, err
	}
	when := c.After != 0 || !c.Expires.IsZero()
	if c.Undoes != "" {
		if c.Verb != "" || when {
			return c, invalid("undoes", "an undo has no verb and no time of its own")
		}
		return c, nil
	}
	if !slices.Contains(Verbs(), c.Verb) {
		return c, invalid("verb", "is none of wrong, too_broad, only_this_repo, ask_next_time and expires_after")
	}
	if c.Verb != VerbExpiresAfter {
		if when {
			return c, invalid("expires", "only expires_after takes a time")
		}
		return c, nil
	}
	switch {
	case !when:
		return c, invalid("expires", "expires_after needs a duration or a date")
	case c.After != 0 && !c.Expires.IsZero():
		return c, invalid("expires", "give a duration or a date, not both")
	case c.After < 0:
		return c, invalid("expires", "the duration is negative; give one from now on")
	case c.After > 0:
		c.Expires = now.Add(c.After)
	}
	c.Expires, c.After = c.Expires.UTC().Truncate(time.Microsecond), 0
	if y := c.Expires.Year(); y < 1970 || y > 9999 {
		return c, invalid("expires", "the time is out of range")
	}
	return c, nil
}
