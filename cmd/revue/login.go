package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/credentials"
	shown "github.com/revuehq/revue/internal/term"
	"github.com/revuehq/revue/transport/revuehttp"
)

// login is the options of the command.
type login struct {
	*app
	tokenStdin, insecure bool
}

func (a *app) loginCmd() *cobra.Command {
	l := &login{app: a}
	cmd := &cobra.Command{
		Use:   "login URL",
		Short: "Keep a token for a plane elsewhere",
		Long: `Keep a token for a plane elsewhere. It is asked for and not shown, or read from standard input;
it is never an argument, where other programs could see it. The plane is asked whose it
is before it is kept: in the keyring of the system, else in a file that you alone can
read. REVUE_KEYRING=off keeps it in the file always.

With a human token the other commands work on that plane from then on, where neither --db
nor REVUE_DB nor REVUE_API_URL says otherwise. An agent token is for "revue mcp", beside
the human one. "revue logout" forgets them.`,
		Example: `  revue login https://revue.example.com
  revue login http://127.0.0.1:7433 --token-stdin < token.txt`,
		Args: addressAlone(1),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), args[0]) }),
	}
	cmd.Flags().BoolVar(&l.tokenStdin, "token-stdin", false, "read the token from standard input, though it is a terminal")
	cmd.Flags().BoolVar(&l.insecure, "insecure", false, "allow http to another machine: the token travels readable")
	return cmd
}

// addressAlone takes up to one address. It repeats nothing of what it refuses: people put tokens there.
func addressAlone(least int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return takes(least, 1)(cmd, args)
		case len(args) > 1:
			return misuse(fmt.Sprintf("it is %q: give the address of the plane alone; a token is never an argument, it is asked for or read from standard input", usage(cmd)))
		}
		return nil
	}
}

// planeWait bounds how long a plane may take to say who a token is for.
const planeWait = 15 * time.Second

// clockSlack is how far two clocks may be apart without a word.
const clockSlack = 30 * time.Second

func (l *login) run(ctx context.Context, arg string) error {
	address, plain, err := credentials.ParseURL(arg)
	if err != nil {
		return err
	}
	if plain && !l.insecure {
		return misuse("the token would travel readable over http to another machine: use https, or --insecure where nobody else is on the way")
	}
	token, err := l.readToken(ctx, address)
	if err != nil {
		return err
	}
	kind := credentials.KindOf(token)
	if kind == "" {
		return misuse("that is no token of revue: one begins with rvu_h_ (human) or rvu_a_ (agent); \"revue token create\" makes one")
	}
	c, err := l.dialAs(place{url: address, token: token, insecure: l.insecure})
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing is under way
	who, off, err := identify(ctx, c)
	err = withoutVariable(err)
	switch {
	case errors.Is(err, revue.ErrNotFound):
		return fmt.Errorf("%s is no plane of revue, and nothing was kept: give its address as it is, like https://revue.example.com, with a path only where a proxy puts the plane below one", address)
	case errors.Is(err, revue.ErrDenied):
		return fmt.Errorf("%s does not take this token, and nothing was kept: %w", address, err)
	case errors.Is(err, revue.ErrInvalid): // the other end's, and no misuse of this command
		return fmt.Errorf("%s: nothing was kept: %s", address, message(err))
	case err != nil:
		return fmt.Errorf("%s: nothing was kept: %w", address, err)
	case who.Kind != kind:
		return fmt.Errorf("%s says that this is another kind of token, so it may be no plane of revue: nothing was kept", address)
	}
	kept, err := l.credentials().Save(ctx, credentials.Credential{URL: address, Kind: kind, Token: token, Workspace: who.Workspace, Name: who.Name, Insecure: plain})
	if err != nil {
		return fmt.Errorf("the token is good, and was not kept: %w", err)
	}
	out := l.printer()
	out.own("You are logged in to %s\n", address)
	showIdentity(out, who, off)
	if kept.InKeyring {
		out.own("  the token is in the keyring of the system\n")
	} else {
		out.own("  the token is in %s, which you alone can read\n", shown.Line(kept.File, 0))
	}
	if kind == revue.TokenHuman {
		l.showOverride(out, address)
	}
	return out.err
}

// showOverride says where commands work in spite of a login.
func (l *login) showOverride(out *printer, address string) {
	switch {
	case l.env("REVUE_DB") != "":
		out.own("  commands work on the database of REVUE_DB all the same, until that is unset\n")
	case l.env("REVUE_API_URL") == "":
	default:
		if at, _, err := l.apiURL(); err != nil || at != address {
			out.own("  commands work on the plane of REVUE_API_URL all the same, until that is unset\n")
		}
	}
}

// withoutVariable is an error of a client where no variable named the plane: a remedy that names one would mislead.
func withoutVariable(err error) error {
	var e *revue.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "REVUE_API_URL") {
		return err
	}
	said := *e
	said.Message = strings.ReplaceAll(e.Message, "REVUE_API_URL", "the address")
	return &said
}

// identify asks a plane who the token is for, and how far the clock of this machine is ahead of the plane's.
func identify(ctx context.Context, c *revuehttp.Client) (who revuehttp.Identity, ahead time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, planeWait)
	defer cancel()
	before := time.Now()
	who, err = c.Whoami(ctx)
	if err == nil && !who.Time.IsZero() {
		ahead = before.Add(time.Since(before) / 2).Sub(who.Time).Round(time.Second)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = &revue.Error{Code: revue.CodeUnavailable, Message: fmt.Sprintf("it did not answer within %s; try again", planeWait), Err: err}
	}
	return who, ahead, err
}

// showIdentity prints who a token is for. What a plane says is a stranger's text.
func showIdentity(out *printer, who revuehttp.Identity, ahead time.Duration) {
	out.own("  as %s, %s, in workspace %s\n", shown.Line(who.Name, 100), kindText(who.Kind), shown.Line(who.Workspace, 100))
	if who.ExpiresAt.IsZero() {
		out.own("  the token %s does not expire\n", shown.Line(who.Token, 100))
	} else {
		out.own("  the token %s expires %s\n", shown.Line(who.Token, 100), stamp(who.ExpiresAt))
	}
	switch {
	case ahead > clockSlack:
		out.own("  the clock of this machine is %s ahead of the plane's: one of them is wrong\n", ahead)
	case ahead < -clockSlack:
		out.own("  the clock of this machine is %s behind the plane's: one of them is wrong\n", -ahead)
	}
}

func kindText(k revue.TokenKind) string {
	if k == revue.TokenAgent {
		return "an agent"
	}
	return "a human"
}

// readToken asks for the token, or reads it where nobody can be asked.
func (l *login) readToken(ctx context.Context, address string) (string, error) {
	f, ok := l.stdin.(*os.File)
	if l.tokenStdin || !ok || !term.IsTerminal(int(f.Fd())) { //nolint:gosec // a file descriptor fits
		line, err := bufio.NewReader(io.LimitReader(l.stdin, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the token from standard input: %w", err)
		}
		if line = strings.TrimSpace(line); line == "" {
			return "", misuse("there is no token on standard input: run \"revue login\" in a terminal to be asked for it, or give it there")
		}
		return line, nil
	}
	return l.askToken(ctx, f, address)
}

// askToken asks in a terminal, without echo. An interrupt leaves the terminal as it was.
func (l *login) askToken(ctx context.Context, f *os.File, address string) (string, error) {
	fd := int(f.Fd()) //nolint:gosec // a file descriptor fits
	state, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("look at the terminal: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := fmt.Fprintf(l.stderr, "Token for %s (it is not shown): ", address); err != nil {
		return "", err
	}
	type read struct {
		text []byte
		err  error
	}
	got := make(chan read, 1)
	go func() { // it ends with the process where nothing is typed
		text, err := term.ReadPassword(fd)
		got <- read{text, err}
	}()
	var r read
	select {
	case r = <-got:
	case <-ctx.Done():
		_ = term.Restore(fd, state)
		r.err = errors.New("interrupted, and nothing was kept")
	}
	_, _ = fmt.Fprintln(l.stderr) // the Enter that was not shown
	if r.err != nil {
		return "", fmt.Errorf("read the token: %w", r.err)
	}
	return strings.TrimSpace(string(r.text)), nil
}

func (a *app) logoutCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "logout [URL]",
		Short: "Forget the tokens kept for a plane",
		Long: `Forget the tokens that "revue login" keeps for a plane: that of the last login, or the one at
URL. The tokens stay good until they expire; "revue token revoke" ends one for good.`,
		Example: `  revue logout
  revue logout https://revue.example.com`,
		Args: addressAlone(0),
		RunE: a.humanOnly(func(cmd *cobra.Command, args []string) error {
			all, err := a.credentials().List()
			if err != nil {
				return err
			}
			address := ""
			switch {
			case len(args) == 1:
				if address, _, err = credentials.ParseURL(args[0]); err != nil {
					return err
				}
			case len(all) > 0:
				address = all[0].URL
			}
			found := false
			for _, c := range all {
				if c.URL != address {
					continue
				}
				found = true
				if err := a.credentials().Delete(cmd.Context(), c.URL, c.Kind); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(a.stdout, "The %s token for %s is forgotten\n", c.Kind, c.URL); err != nil {
					return err
				}
			}
			if !found {
				return &revue.Error{Code: revue.CodeNotFound, Message: "you are not logged in" + to(address)}
			}
			return nil
		}),
	}
}

func to(address string) string {
	if address == "" {
		return ""
	}
	return " to " + address
}

// whoami is what "revue whoami --json" writes.
type whoami struct {
	URL       string          `json:"url,omitempty"`
	Database  string          `json:"database,omitempty"`
	Token     string          `json:"token,omitempty"` // its id
	Kind      revue.TokenKind `json:"kind"`
	Workspace string          `json:"workspace"`
	Name      string          `json:"name"`
	Via       string          `json:"via"`
	ExpiresAt time.Time       `json:"expiresAt,omitzero"`
	Time      time.Time       `json:"time,omitzero"` // the clock of the plane
	Version   string          `json:"version,omitempty"`
}

func (a *app) whoamiCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "whoami",
		Short: "Say who you are, and where commands work",
		Long: `Say which database or plane the commands work on, and who you are there. A plane is asked, so
this also says whether its token is still good.`,
		Args: takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			at, err := a.placeOfAnyone(ctx)
			if err != nil {
				return err
			}
			out := a.printer()
			if at.url == "" {
				h := a.human()
				if asJSON {
					return writeJSON(a.stdout, whoami{Database: at.db, Kind: revue.TokenHuman, Workspace: h.Workspace, Name: h.Name, Via: h.Via})
				}
				out.own("Commands work on the database %s\n  as %s (%s), in workspace %s\n", shown.Line(at.db, 0), shown.Line(h.Name, 100), h.Via, shown.Line(h.Workspace, 0))
				return out.err
			}
			c, err := a.dialAs(at)
			if err != nil {
				return err
			}
			defer c.Close() //nolint:errcheck // nothing is under way
			who, ahead, err := identify(ctx, c)
			if err != nil {
				return a.remedied(refused(at.url, err))
			}
			if asJSON {
				return writeJSON(a.stdout, whoami{
					URL: at.url, Token: who.Token, Kind: who.Kind, Workspace: who.Workspace, Name: who.Name, Via: "cli",
					ExpiresAt: who.ExpiresAt, Time: who.Time, Version: who.Version,
				})
			}
			out.own("Commands work on %s\n", at.url)
			showIdentity(out, who, ahead)
			return out.err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, `write {"url" or "database","kind","workspace","name",…}`)
	return cmd
}

// placeOfAnyone is place, and the plane of an agent token where no human one is at hand.
func (a *app) placeOfAnyone(ctx context.Context) (place, error) {
	_, named, _ := a.dbPath()
	if key := a.apiKey(); !named && a.env("REVUE_API_URL") != "" && credentials.KindOf(key) == revue.TokenAgent {
		address, plain, err := a.apiURL()
		if err == nil && plain && !a.insecureEnv() {
			err = errPlain
		}
		return place{url: address, token: key, insecure: plain}, err
	}
	return a.place(ctx)
}
