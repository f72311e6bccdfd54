package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/credentials"
)

// TestKeyring keeps a token in the keyring of the system, and in the file where that fails.
func TestKeyring(t *testing.T) {
	keyring.MockInit()
	ctx := t.Context()
	const url = "https://revue.example.com"
	c := credentials.Credential{URL: url, Kind: revue.TokenHuman, Token: "rvu_h_hunter-seven"}
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	a := &app{world: &world{env: func(key string) string { return env[key] }}}

	kept, err := a.credentials().Save(ctx, c)
	require.NoError(t, err)
	require.True(t, kept.InKeyring)
	secret, err := keyring.Get("revue", "human "+url)
	require.NoError(t, err)
	require.Equal(t, c.Token, secret)
	got, err := a.credentials().Load(ctx, url, revue.TokenHuman)
	require.NoError(t, err)
	require.Equal(t, c.Token, got.Token)
	require.NoError(t, a.credentials().Delete(ctx, url, revue.TokenHuman))
	_, err = keyring.Get("revue", "human "+url)
	require.ErrorIs(t, err, keyring.ErrNotFound)

	kept, err = a.credentials().Save(ctx, c)
	require.NoError(t, err)
	require.True(t, kept.InKeyring)
	require.NoError(t, keyring.Delete("revue", "human "+url))
	_, err = a.credentials().Load(ctx, url, revue.TokenHuman)
	require.ErrorIs(t, err, revue.ErrUnavailable)
	require.NoError(t, a.credentials().Delete(ctx, url, revue.TokenHuman), "what is gone is forgotten")

	keyring.MockInitWithError(errors.New("no bus"))
	kept, err = a.credentials().Save(ctx, c)
	require.NoError(t, err)
	require.False(t, kept.InKeyring)

	keyring.MockInit()
	env["REVUE_KEYRING"] = "off"
	kept, err = a.credentials().Save(ctx, c)
	require.NoError(t, err)
	require.False(t, kept.InKeyring)
}
