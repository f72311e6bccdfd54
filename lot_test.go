package revue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func openLot(kind Kind) Lot {
	l := Lot{ID: "lot_1", Seq: 1, Status: StatusOpen, Kind: kind, Question: "Which one?", CreatedAt: noon}
	if kind == KindApproval {
		l.ExpiresAt = noon.Add(time.Hour)
	} else {
		l.Options = []Option{{Value: "a", Label: "The A"}, {Value: "b", Label: "b"}}
	}
	return l
}

func TestLotTransitions(t *testing.T) {
	alice, bob := Who{ID: "1", Name: "alice"}, Who{ID: "2", Name: "bob"}
	dec, app := openLot(KindDecision), openLot(KindApproval)
	answered, err := dec.answer(Answer{Value: "a"}, alice, 1, noon)
	require.NoError(t, err)
	require.Equal(t, "The A", answered.Answer.Label)
	dismissed, err := dec.dismiss(Dismissal{Reason: "no"}, alice, 1, noon)
	require.NoError(t, err)
	reopened, err := dismissed.reopen(noon)
	require.NoError(t, err)
	require.True(t, reopened.reopened())
	expired, ok := app.expire(noon.Add(time.Hour))
	require.True(t, ok)

	late := noon.Add(2 * time.Hour)
	for name, c := range map[string]struct {
		do   func() (Lot, error)
		code Code
	}{
		"answer an open lot":         {func() (Lot, error) { return dec.answer(Answer{Value: "b"}, bob, 1, noon) }, ""},
		"answer an answered lot":     {func() (Lot, error) { return answered.answer(Answer{Value: "b"}, bob, 1, noon) }, CodeConflict},
		"answer a dismissed lot":     {func() (Lot, error) { return dismissed.answer(Answer{Value: "b"}, bob, 1, noon) }, CodeConflict},
		"answer a reopened lot":      {func() (Lot, error) { return reopened.answer(Answer{Value: "b"}, bob, 1, noon) }, ""},
		"answer an expired approval": {func() (Lot, error) { return expired.answer(Answer{Value: Approved}, bob, 1, noon) }, CodeConflict},
		"answer one past its time":   {func() (Lot, error) { return app.answer(Answer{Value: Approved}, bob, 1, late) }, CodeConflict},
		"dismiss an answered lot":    {func() (Lot, error) { return answered.dismiss(Dismissal{}, bob, 1, noon) }, CodeConflict},
		"dismiss a dismissed lot":    {func() (Lot, error) { return dismissed.dismiss(Dismissal{}, bob, 1, noon) }, CodeConflict},
		"dismiss an approval":        {func() (Lot, error) { return app.dismiss(Dismissal{}, bob, 1, noon) }, CodeInvalid},
		"reopen an open lot":         {func() (Lot, error) { return dec.reopen(noon) }, CodeConflict},
		"reopen an answered lot":     {func() (Lot, error) { return answered.reopen(noon) }, CodeConflict},
		"reopen an expired approval": {func() (Lot, error) { return expired.reopen(noon) }, CodeConflict},
	} {
		got, err := c.do()
		require.Equal(t, c.code, CodeOf(err), name)
		if err == nil {
			require.Equal(t, StatusAnswered, got.Status, name)
			require.Equal(t, bob, got.Answer.By, name)
		}
	}
	require.True(t, answered.answeredSo(Answer{Value: "a"}, alice))
	require.False(t, answered.answeredSo(Answer{Value: "b"}, alice))
	require.False(t, answered.answeredSo(Answer{Value: "a"}, bob))
	require.False(t, answered.answeredSo(Answer{Text: "a"}, alice), "the same words as free text are another answer")
	require.Contains(t, MessageOf(answered.conflict()), "alice")
}

func TestLotSplit(t *testing.T) {
	l := openLot(KindDecision)
	var asks []AskRecord
	for _, v := range []Verdict{VerdictSame, VerdictLikely, VerdictSame, VerdictLikely} {
		var a AskRecord
		l, a = l.joined(AskRecord{ID: "ask_" + itoa(int64(len(asks)))}, Comparison{Verdict: v}, noon)
		asks = append(asks, a)
	}
	require.EqualValues(t, 4, l.Revision)
	for name, c := range map[string]struct {
		seen    Revision
		members []string
		settled []string
		code    Code
	}{
		"without seen the same ones alone":       {0, nil, []string{"ask_0", "ask_2"}, ""},
		"all that was on screen":                 {4, nil, []string{"ask_0", "ask_1", "ask_2", "ask_3"}, ""},
		"a same one that came later is settled":  {2, nil, []string{"ask_0", "ask_1", "ask_2"}, ""},
		"an unticked likely one is not":          {4, []string{"ask_0", "ask_1", "ask_2"}, []string{"ask_0", "ask_1", "ask_2"}, ""},
		"an unticked same one is not":            {4, []string{"ask_0"}, []string{"ask_0"}, ""},
		"nobody could untick what came later":    {1, []string{"ask_0"}, []string{"ask_0", "ask_2"}, ""},
		"a ticked one that was not on screen":    {2, []string{"ask_0", "ask_3"}, nil, CodeInvalid},
		"a ticked likely one without seen":       {0, []string{"ask_0", "ask_1"}, nil, CodeInvalid},
		"an ask of another lot":                  {4, []string{"ask_0", "ask_9"}, nil, CodeInvalid},
		"nothing ticked":                         {4, []string{}, nil, CodeInvalid},
		"none of the card's own question ticked": {4, []string{"ask_1"}, nil, CodeInvalid},
		"a revision that is not there yet":       {5, nil, nil, CodeInvalid},
		"a negative revision":                    {-1, nil, nil, CodeInvalid},
	} {
		settled, rest, err := l.split(asks, c.seen, c.members)
		require.Equal(t, c.code, CodeOf(err), name)
		if err == nil {
			require.Equal(t, c.settled, askIDs(settled), name)
			require.Len(t, rest, len(asks)-len(settled), name)
		}
	}
}

func TestLotClaim(t *testing.T) {
	l, err := openLot(KindApproval).answer(Answer{Value: Approved}, Who{ID: "1", Name: "alice"}, 1, noon)
	require.NoError(t, err)

	late, ok := l.claim("1", false, noon.Add(collectFor))
	require.True(t, ok, "collected within the hour")
	again, ok := late.claim("1", false, noon.Add(collectFor))
	require.True(t, ok, "a claim that is written twice is one")
	require.Equal(t, late, again)
	_, ok = late.claim("2", false, noon.Add(collectFor))
	require.False(t, ok, "once")
	_, ok = late.claim("3", true, noon)
	require.False(t, ok, "a parked call does not get what was collected")
	_, ok = l.claim("4", false, noon.Add(collectFor+1))
	require.False(t, ok, "not after the hour")

	one, ok := l.claim("1", true, noon)
	require.True(t, ok)
	two, ok := one.claim("2", true, noon)
	require.True(t, ok, "every parked call gets it")
	_, ok = two.claim("3", false, noon)
	require.False(t, ok, "no later call does")
	_, ok = two.unclaim("1").unclaim("1").claim("3", false, noon)
	require.False(t, ok, "one of the two was returned, however often the other was taken back")
	again, ok = two.unclaim("1").unclaim("2").claim("3", false, noon)
	require.True(t, ok, "every write failed")
	require.Empty(t, again.unclaim("3").Claims)
	require.False(t, again.unclaim("3").Collected)
}

// FuzzLot runs acts against a lot: whatever their order, it has one end at a time, with exactly what
// belongs to that end, and only a dismissal can be taken back.
func FuzzLot(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5}, false)
	f.Add([]byte{1, 2, 0, 0}, false)
	f.Add([]byte{4, 3, 0}, true)
	f.Fuzz(func(t *testing.T, acts []byte, approval bool) {
		kind := KindDecision
		if approval {
			kind = KindApproval
		}
		l, now := openLot(kind), noon
		for i, act := range acts[:min(len(acts), 64)] { // longer ones only take longer
			before := l
			by := Who{ID: itoa(int64(act)), Name: "n"}
			switch act % 6 {
			case 0:
				a, err := Answer{Value: []string{"a", Approved, "", "zzz"}[int(act/6)%4]}.normalized(l)
				if err == nil {
					if l, err = l.answer(a, by, 1, now); err != nil {
						l = before
					}
				}
			case 1:
				if next, err := l.dismiss(Dismissal{}, by, 1, now); err == nil {
					l = next
				}
			case 2:
				if next, err := l.reopen(now); err == nil {
					l = next
				}
			case 3:
				now = now.Add(20 * time.Minute)
			case 4:
				l, _ = l.expire(now)
			case 5:
				if l.Status == StatusOpen {
					l, _ = l.joined(AskRecord{ID: itoa(int64(i))}, Comparison{Verdict: VerdictSame}, now)
				}
			}
			require.GreaterOrEqual(t, l.Revision, before.Revision)
			require.Equal(t, l.Status == StatusAnswered, l.Answer != nil)
			require.Equal(t, l.Status == StatusDismissed, l.Dismissed != nil)
			if l.Answer != nil {
				require.False(t, blank(l.Answer.Value))
			}
			if before.Status != StatusOpen && before.Status != StatusDismissed {
				require.Equal(t, before, l, "an end is final")
			}
			if before.Status == StatusDismissed && l.Status != StatusDismissed {
				require.Equal(t, StatusOpen, l.Status)
			}
			if approval {
				require.NotEqual(t, StatusDismissed, l.Status)
			} else {
				require.NotEqual(t, StatusExpired, l.Status)
			}
		}
	})
}
