package embedhttp_test

import (
	"fmt"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/memory"
	"github.com/revuehq/revue/memory/embedhttp"
	"github.com/revuehq/revue/storage/memstore"
)

// A desk whose precedents are ordered with the help of a model on the same machine. Where nothing answers there, they are
// ordered by their words.
func ExampleNew() {
	e, err := embedhttp.New("http://127.0.0.1:11434/v1/embeddings", "nomic-embed-text", 768, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	desk := revue.New(memstore.New(nil), memory.New(&memory.Options{Embedder: e}), nil)
	_ = desk
	fmt.Println(e.ID())

	// A key never goes over a network in the clear.
	_, err = embedhttp.New("http://embeddings.example.com/v1/embeddings", "m", 768, &embedhttp.Options{Key: "secret"})
	fmt.Println(err)
	// Output:
	// http://127.0.0.1:11434/v1/embeddings nomic-embed-text 768
	// endpoint: a key is sent over https alone, or to this machine
}
