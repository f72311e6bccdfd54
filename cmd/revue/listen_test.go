package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// certificate writes a certificate for 127.0.0.1 and its key, and returns who trusts it.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(cert, certPEM, 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	roots = x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(certPEM))
	return cert, key, roots
}

func TestServeTLS(t *testing.T) {
	cert, key, roots := certificate(t)
	env := cleanEnv(t.TempDir(), "REVUE_DB="+tempDB(t))
	p := start(t, env, "serve", "--addr", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key, "--allow-host", "revue.example.com", "--log-format", "json")
	line := p.line(t, "revue listens on")
	require.Contains(t, line, "https://revue.example.com:")
	port := line[strings.LastIndexByte(line, ':')+1:]

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	get := func(host string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+port+"/healthz", nil)
		require.NoError(t, err)
		req.Host = host
		resp, err := client.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	require.Equal(t, http.StatusOK, get("127.0.0.1"))
	require.Equal(t, http.StatusOK, get("revue.example.com"))
	require.Equal(t, http.StatusForbidden, get("evil.example.com"))

	require.NoError(t, p.stop(t, syscall.SIGTERM))
	for l := range strings.Lines(p.stderr.String()) {
		require.True(t, json.Valid([]byte(l)), "%q", l)
	}
}

// TestServeInsecure listens beyond the machine because the user says so, and turns away hosts it does not know.
func TestServeInsecure(t *testing.T) {
	env := cleanEnv(t.TempDir(), "REVUE_DB="+tempDB(t))
	p := start(t, env, "serve", "--addr", "0.0.0.0:0", "--insecure-listen")
	p.line(t, "revue listens on")
	require.Eventually(t, func() bool { return strings.Contains(p.stderr.String(), "--allow-host") }, patience, 10*time.Millisecond)
	require.NoError(t, p.stop(t, syscall.SIGINT))
}

// TestServeAddressInUse fails in one line.
func TestServeAddressInUse(t *testing.T) {
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	p := start(t, cleanEnv(t.TempDir(), "REVUE_DB="+tempDB(t)), "serve", "--addr", ln.Addr().String())
	<-p.done
	require.Equal(t, exitFailed, p.cmd.ProcessState.ExitCode())
	require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), p.stderr)
}
