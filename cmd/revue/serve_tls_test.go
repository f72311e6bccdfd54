package main

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCertificates renews the certificate of a server that runs.
func TestCertificates(t *testing.T) {
	cert, key, roots := certificate(t)
	var log strings.Builder
	certs, err := loadCertificates(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := newServer(t.Context(), http.HandlerFunc(healthy), slog.New(slog.DiscardHandler))
	srv.TLSConfig = certs.config()
	done := make(chan error, 1)
	go func() { done <- srv.ServeTLS(ln, "", "") }()
	defer func() {
		require.NoError(t, srv.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	}()

	get := func(roots *x509.CertPool, most uint16) (httpVersion int, err error) {
		tr := &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: most}, //nolint:gosec // what the server refuses
			ForceAttemptHTTP2: true,
		}
		defer tr.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+ln.Addr().String()+"/healthz", nil)
		require.NoError(t, err)
		resp, err := (&http.Client{Transport: tr}).Do(req)
		if err != nil {
			return 0, err
		}
		return resp.ProtoMajor, resp.Body.Close()
	}
	// later makes the next connection look at the files, as one a minute on would.
	later := func() {
		certs.mu.Lock()
		defer certs.mu.Unlock()
		certs.checked = certs.checked.Add(-certCheck)
	}
	version, err := get(roots, tls.VersionTLS13)
	require.NoError(t, err)
	require.Equal(t, 2, version)
	_, err = get(roots, tls.VersionTLS12)
	require.NoError(t, err)
	_, err = get(roots, tls.VersionTLS11)
	require.Error(t, err)

	newCert, newKey, newRoots := certificate(t)
	replace := func(from, to string) {
		b, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, b, 0o600))
		at := time.Now().Add(time.Minute) // whatever the clock of the file system can tell apart
		require.NoError(t, os.Chtimes(to, at, at))
	}
	replace(newCert, cert)
	for range 3 { // the key is still the old one
		later()
		_, err = get(roots, tls.VersionTLS13)
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
	replace(newKey, key)
	_, err = get(roots, tls.VersionTLS13)
	require.NoError(t, err, "the files are looked at once a minute")
	later()
	_, err = get(newRoots, tls.VersionTLS13)
	require.NoError(t, err)
	_, err = get(roots, tls.VersionTLS13)
	require.Error(t, err)
	require.Contains(t, log.String(), "a new TLS certificate is in use")

	require.NoError(t, os.Remove(key))
	later()
	_, err = get(newRoots, tls.VersionTLS13)
	require.NoError(t, err)
	_, err = loadCertificates(cert, key, nil)
	require.ErrorContains(t, err, "load the TLS certificate")
}
