package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certCheck is how often, at most, the files of the certificate are looked at.
const certCheck = time.Minute

// certificates holds a certificate and takes up the one that its files are replaced by. It looks at their times when a
// client connects, so that a renewed certificate needs neither a restart nor a signal. It is safe for concurrent use.
type certificates struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	cert    *tls.Certificate
	read    [2]time.Time // the times of the files when they were read
	checked time.Time
	failing bool
}

// loadCertificates reads the certificate. One that can't be read at the start is an error.
func loadCertificates(certFile, keyFile string, log *slog.Logger) (*certificates, error) {
	c := &certificates{certFile: certFile, keyFile: keyFile, log: log}
	times, err := c.times()
	if err == nil {
		c.cert, err = c.load()
	}
	if err != nil {
		return nil, fmt.Errorf("load the TLS certificate: %w", err)
	}
	c.read, c.checked = times, time.Now()
	return c, nil
}

func (c *certificates) load() (*tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	return &cert, err
}

func (c *certificates) times() (out [2]time.Time, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return out, err
		}
		out[i] = info.ModTime()
	}
	return out, nil
}

// get is called for each connection. While new files can't be read, as when one of the two is still being written, the
// certificate stays what it was.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < certCheck {
		return c.cert, nil
	}
	c.checked = time.Now()
	times, err := c.times()
	if err == nil && times == c.read {
		return c.cert, nil
	}
	var cert *tls.Certificate
	if err == nil {
		cert, err = c.load()
	}
	if err != nil {
		if !c.failing {
			c.log.Error("the new TLS certificate can't be read; the old one stays in use", "err", err)
		}
		c.failing = true
		return c.cert, nil
	}
	c.cert, c.read, c.failing = cert, times, false
	c.log.Info("a new TLS certificate is in use", "until", cert.Leaf.NotAfter)
	return c.cert, nil
}

// config is how the server speaks TLS.
func (c *certificates) config() *tls.Config {
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}
