package main

import (
	"context"
	"errors"
	"strings"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/transport/revuehttp"
)

// advisedPlane is a plane elsewhere as an agent calls it: where it can't be reached, the error says what to do.
type advisedPlane struct {
	revue.Plane
	client *revuehttp.Client
}

func (p advisedPlane) Decider(a revue.Agent) revue.Decider { return advised{p.client.For(a)} }

// advised is what one agent may do. It is a [revue.Returner] too, as the client is.
type advised struct{ *revuehttp.Client }

func (a advised) Request(ctx context.Context, ask revue.Ask) (revue.Outcome, error) {
	o, err := a.Client.Request(ctx, ask)
	return o, withAdvice(err)
}

// withAdvice is the error of a request that came to no answer as a model should read it: a model that reads of a fault of
// the network alone is tempted to go on by a guess.
func withAdvice(err error) error {
	var e *revue.Error
	if !errors.As(err, &e) || e.Code != revue.CodeUnavailable || strings.Contains(e.Message, "nothing was decided") {
		return err
	}
	said := *e
	said.Message += "; nothing was decided for this call: don't guess the answer, and make the identical call again shortly"
	return &said
}
