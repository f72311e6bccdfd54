package revuehttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/storage/memstore"
	"github.com/revuehq/revue/transport/revuehttp"
)

// An agent asks with a plain HTTP request, a human answers with another, and the agent that asks again has the answer.
func ExampleServer() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	desk := revue.New(memstore.New(nil), memory.New(nil), nil)
	go func() { _ = desk.Run(ctx) }()

	// Whoever is at the machine makes the workspace and its tokens.
	admin := desk.Admin(revue.Human{Workspace: "main", ID: "local", Name: "local", Via: revue.LocalVia, Local: true})
	if _, err := admin.CreateWorkspace(ctx, "main"); err != nil {
		fmt.Println(err)
		return
	}
	agent, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenAgent, Label: "builder"})
	if err != nil {
		fmt.Println(err)
		return
	}
	human, err := admin.CreateToken(ctx, revue.NewToken{Kind: revue.TokenHuman, Owner: "ada"})
	if err != nil {
		fmt.Println(err)
		return
	}

	server := httptest.NewServer(revuehttp.NewServer(desk, nil).Handler())
	defer server.Close()
	post := func(token revue.Token, path, body string, into any) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+token.Secret)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = res.Body.Close() }()
		b, err := io.ReadAll(res.Body)
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			fmt.Println(err)
		}
	}

	const question = `{"question":"Which licence does the billing module get?","options":["apache-2.0","mit"],"waitSeconds":0}`
	var out revue.Outcome
	post(agent, "/v1/decisions/request", question, &out)
	fmt.Println(out.Status)

	var lot revue.Lot
	post(human, "/v1/lots/"+out.LotID+"/answer", `{"value":"apache-2.0","seen":1}`, &lot)
	fmt.Println(lot.Status)

	post(agent, "/v1/decisions/request", question, &out)
	fmt.Println(out.Status, out.Answer, "by", out.DecidedBy.Name)

	var problem struct{ Status, Code, Detail any }
	post(agent, "/v1/lots/"+out.LotID+"/answer", `{"value":"mit"}`, &problem)
	fmt.Println(problem.Status, problem.Code)

	// Output:
	// pending
	// answered
	// answered apache-2.0 by ada
	// 403 denied
}
