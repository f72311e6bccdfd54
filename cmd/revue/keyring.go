package main

import (
	"errors"

	"github.com/zalando/go-keyring"

	"github.com/revuehq/revue"
)

// osKeyring is the keyring of the operating system.
type osKeyring struct{}

// Get implements credentials.Keyring.
func (osKeyring) Get(service, user string) (string, error) {
	secret, err := keyring.Get(service, user)
	return secret, keyringError(err)
}

// Set implements credentials.Keyring.
func (osKeyring) Set(service, user, secret string) error {
	return keyringError(keyring.Set(service, user, secret))
}

// Delete implements credentials.Keyring.
func (osKeyring) Delete(service, user string) error {
	return keyringError(keyring.Delete(service, user))
}

func keyringError(err error) error {
	if errors.Is(err, keyring.ErrNotFound) {
		return revue.ErrNotFound
	}
	return err
}
