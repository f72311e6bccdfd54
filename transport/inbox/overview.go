package inbox

import (
	"net/http"
	"net/url"
	"time"

	"github.com/revuehq/revue"
)

// Limits of the lists of the overview; the tables below the plots have all streams.
const (
	askersShown  = 10
	streamsShown = 50

	// patience is how long the figures may take. A journal that is read for the first time may take longer: then the page
	// says so, and comes again.
	patience = 2 * time.Second
)

// overviewPage is what the overview shows.
type overviewPage struct {
	overview

	Stream  string // the one that the plots are of, "" for all
	Name    string // as it is called
	Empty   bool
	Rows    []weekRow
	By      []streamRow
	Hidden  int // streams that are not listed
	Open    int
	Oldest  time.Time // zero: nothing is open
	Plots   []plot
	Total   sums
	Median  string
	P90     string
	Changed int // corrections
	Undone  int // corrections, and wordings, that were taken back
}

// weekRow is a week in the table below the plots.
type weekRow struct {
	Start time.Time
	sums

	MedianText, P90Text string
}

// streamRow is a stream in its table.
type streamRow struct {
	streamSum

	Name, MedianText, P90Text, Address string
	Saved                              int
	Share                              string // of all asks, in percent
}

// showOverview counts what was asked and how it went.
func (s *Server) showOverview(v *visit) error {
	ctx, now := v.r.Context(), time.Now()
	sum, err := s.figures.of(v.human.Workspace).read(ctx, v.reviewer, now, now.Add(patience))
	if err != nil {
		return err
	}
	if sum.Behind {
		v.w.Header().Set("Refresh", "1")
		return s.render(v, http.StatusOK, "overview", page{Title: "Overview", Nav: "overview", Still: true, Data: overviewPage{overview: sum}})
	}
	names, err := streamNames(v)
	if err != nil {
		return err
	}
	if err := nameAskers(v, sum.Askers[:min(askersShown, len(sum.Askers))]); err != nil {
		return err
	}
	data := overviewOf(sum, names, v.r.URL.Query().Get("stream"))
	return s.render(v, http.StatusOK, "overview", page{Title: "Overview", Nav: "overview", Data: data})
}

// overviewOf makes the page: with a stream, plots of that alone.
func overviewOf(sum overview, names map[string]string, stream string) overviewPage {
	data := overviewPage{overview: sum, Stream: stream, Name: nameOf(names, stream), Total: sum.All, Empty: true}
	if stream != "" {
		data.Total = sums{}
	}
	for _, st := range sum.Streams {
		if st.Asks > 0 || st.Open > 0 || st.Answered > 0 || st.Dismissed > 0 || st.Expired > 0 {
			data.Empty = false
		}
		if st.Stream == stream {
			data.Total = st.sums
		}
		if stream == "" || st.Stream == stream {
			data.Open += st.Open
			if !st.Oldest.IsZero() && (data.Oldest.IsZero() || st.Oldest.Before(data.Oldest)) {
				data.Oldest = st.Oldest
			}
		}
		if len(data.By) == streamsShown {
			data.Hidden++
			continue
		}
		row := streamRow{
			streamSum: st, Name: nameOf(names, st.Stream), MedianText: spent(st.sums, st.Median), P90Text: spent(st.sums, st.P90),
			Address: "/overview?" + url.Values{"stream": {st.Stream}}.Encode(), Saved: st.Asks - st.Cards, Share: "0%",
		}
		if sum.All.Asks > 0 {
			row.Share = part(100 * float64(max(0, st.Asks)) / float64(sum.All.Asks))
		}
		data.By = append(data.By, row)
	}
	data.Askers = data.Askers[:min(askersShown, len(data.Askers))]
	for _, verb := range sum.Verbs {
		if verb.Verb == "" {
			data.Undone = verb.N
		} else {
			data.Changed += verb.N
		}
	}
	data.Median, data.P90 = spent(data.Total, data.Total.Median), spent(data.Total, data.Total.P90)
	data.plot()
	return data
}

// plot draws the weeks.
func (d *overviewPage) plot() {
	starts := make([]time.Time, len(d.Weeks))
	row := func(class, name string) series { return series{class, name, make([]float64, len(d.Weeks))} }
	cards, joined, reused := row("p1", "became a card"), row("p2", "joined one"), row("p3", "reused")
	answered, dismissed, expired := row("p1", "answered"), row("p2", "dismissed"), row("p3", "expired")
	half, nine := row("p1", "median"), row("p2", "p90")
	for i, w := range d.Weeks {
		starts[i] = w.Start
		t := w.All
		if d.Stream != "" {
			t = w.By[d.Stream]
		}
		cards.Values[i], joined.Values[i], reused.Values[i] = float64(max(0, t.Asks-t.Joined-t.Reused)), float64(max(0, t.Joined)), float64(t.Reused)
		answered.Values[i], dismissed.Values[i], expired.Values[i] = float64(t.AnsweredCards), float64(t.DismissedCards), float64(t.ExpiredCards)
		half.Values[i], nine.Values[i] = -1, -1
		if t.Waited > 0 {
			half.Values[i], nine.Values[i] = t.Median.Seconds(), t.P90.Seconds()
		}
		d.Rows = append(d.Rows, weekRow{Start: w.Start, sums: t, MedianText: spent(t, t.Median), P90Text: spent(t, t.P90)})
	}
	d.Plots = []plot{
		stacked("asks", "Asks, by what became of them at once", starts, []series{cards, joined, reused}),
		stacked("ends", "Cards, by how they ended", starts, []series{answered, dismissed, expired}),
		timed("waits", "Time until a card was answered", starts, []series{half, nine}),
	}
}

// spent writes a duration where something was answered at all.
func spent(s sums, d time.Duration) string {
	if s.Waited == 0 {
		return "–"
	}
	return short(d)
}

// streamNames returns what the streams are called that have a name.
func streamNames(v *visit) (map[string]string, error) {
	all, err := v.admin.Streams(v.r.Context())
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, st := range all {
		if st.Name != "" {
			names[st.Slug] = st.Name
		}
	}
	return names, nil
}

func nameOf(names map[string]string, slug string) string {
	switch name := names[slug]; {
	case name != "":
		return name
	case slug == "":
		return "(unknown)"
	case slug == otherStreams:
		return "(others)"
	default:
		return slug
	}
}

// nameAskers fills in the names of those who have only asked what was remembered, by their tokens.
func nameAskers(v *visit, askers []asker) error {
	var tokens []revue.Token
	for i := range askers {
		a := &askers[i]
		if a.Name != "" {
			continue
		}
		if tokens == nil {
			var err error
			if tokens, err = v.admin.Tokens(v.r.Context()); err != nil {
				return err
			}
		}
		a.Name = a.Credential
		for _, tok := range tokens {
			if tok.ID == a.Credential && tok.Owner+tok.Label != "" {
				a.Name = tok.Owner
				if tok.Label != "" && tok.Owner != "" {
					a.Name += " (" + tok.Label + ")"
				} else if tok.Owner == "" {
					a.Name = tok.Label
				}
			}
		}
	}
	return nil
}
