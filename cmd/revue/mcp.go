package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/revuehq/revue"
	"github.com/revuehq/revue/internal/credentials"
	"github.com/revuehq/revue/transport/revuehttp"
	"github.com/revuehq/revue/transport/revuemcp"
)

// stdioServer is the options of the command.
type stdioServer struct {
	*app
	profile  string
	logFlags logFlags
}

func (a *app) mcpCmd() *cobra.Command {
	m := &stdioServer{app: a}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve one agent over stdio",
		Long: `Serve one agent over stdio. It asks the first of these that is there:

  --db           a database of this machine, made where it is missing; several processes may
                 share one, with each other and with "revue serve"
  REVUE_API_URL  the plane at this address, with the agent token REVUE_API_KEY, else with the
                 agent token that "revue login" keeps for the address
  REVUE_DB       a database, as with --db

The plane is asked at the start, in the background, whether it takes the token. Where not, or
where it is out of reach, the log says so and the agent can call all the same; a token for
another workspace than REVUE_WORKSPACE_ID (or --workspace) names ends the program. Http to
another machine needs REVUE_INSECURE=1.

The agent's thread is REVUE_THREAD_ID or REVUE_WORKSTREAM_ID, else one for this process. Its
repository is REVUE_REPO, else the git remote of the working directory.`,
		Example: `  revue mcp --db ~/.local/share/revue/revue.db
  REVUE_API_URL=https://revue.example.com REVUE_API_KEY=… revue mcp
  claude mcp add revue -- revue mcp --db ~/.local/share/revue/revue.db`,
		Args: takes(0, 0),
		RunE: does(func(cmd *cobra.Command, _ []string) error { return m.run(cmd.Context()) }),
	}
	cmd.Flags().StringVar(&a.db, "db", "", "the database (default: the plane at $REVUE_API_URL, else $REVUE_DB; one of them is needed)")
	cmd.Flags().StringVar(&m.profile, "profile", string(revuemcp.Decisions), "which tools it has: decisions or approvals")
	m.logFlags.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(profileNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (m *stdioServer) run(ctx context.Context) error {
	profile, err := parseProfile(m.profile)
	if err != nil {
		return err
	}
	log, err := m.logFlags.logger(m.stderr)
	if err != nil {
		return err
	}
	if m.db == "" && m.env("REVUE_API_URL") != "" {
		return m.servePlane(ctx, profile, log)
	}
	path, named, err := m.dbPath()
	if err != nil {
		return err
	}
	if !named {
		return m.nothingNamed()
	}
	return m.serveDatabase(ctx, path, profile, log)
}

// serveDatabase runs a plane of its own.
func (m *stdioServer) serveDatabase(ctx context.Context, path string, profile revuemcp.Profile, log *slog.Logger) error {
	agent, err := m.localAgent(ctx)
	if err != nil {
		return err
	}
	sigCtx, restore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer restore()
	p, err := openPlane(ctx, path, log)
	if err != nil {
		return err
	}
	runCtx, stopRun := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() { ran <- p.Run(runCtx) }()

	// Parked calls must return before the session ends, so that their answers can still be written.
	serveCtx, stopServe := context.WithCancel(ctx)
	defer stopServe()
	go func() {
		<-sigCtx.Done()
		restore() // a second signal ends the process
		p.Drain()
		stopServe()
	}()
	m.warnRepo(log, agent)
	srv := revuemcp.NewServer(p, &revuemcp.Options{Profile: profile, Version: version(), Log: log})
	err = srv.Serve(serveCtx, agent, m.stdin, m.stdout)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil { // stopped by a signal, as asked
		err = nil
	}
	stopRun()
	<-ran
	if cerr := p.close(); err == nil {
		err = cerr
	}
	return err
}

func (m *stdioServer) warnRepo(log *slog.Logger, agent revue.Agent) {
	if m.env("REVUE_REPO") != "" && agent.Repo == "" {
		log.Warn("REVUE_REPO is no address of a repository, like github.com/acme/api: the repository is unknown")
	}
}

// servePlane passes on what the agent asks to a plane elsewhere.
func (m *stdioServer) servePlane(ctx context.Context, profile revuemcp.Profile, log *slog.Logger) error {
	if m.env("REVUE_DB") != "" {
		log.Warn("REVUE_API_URL and REVUE_DB are both set: the agent asks the plane; --db PATH would have it ask a database")
	}
	address, plain, err := m.apiURL()
	if err != nil {
		return err
	}
	token, insecure, err := m.agentToken(ctx, address)
	if err != nil {
		return err
	}
	if insecure = insecure || m.insecureEnv(); plain && !insecure {
		return errPlain
	}
	agent, err := m.remoteAgent(ctx)
	if err != nil {
		return err
	}
	m.warnRepo(log, agent)
	c, err := dial(address, token, &revuehttp.ClientOptions{
		Workspace: agent.Workspace, Thread: agent.Thread, Repo: agent.Repo, AnyThread: agent.AnyThread, Via: agent.Via,
		Insecure: insecure, Log: log,
	})
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // what is under way has been answered

	sigCtx, restore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer restore()
	serveCtx, stop := context.WithCancelCause(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop(nil)
	work.Go(func() {
		select {
		case <-sigCtx.Done():
			restore() // a second signal ends the process
			stop(errStopped)
		case <-serveCtx.Done():
		}
	})
	work.Go(func() { // the tools are listed meanwhile
		if err := m.checkPlane(serveCtx, address, token, agent.Workspace, insecure, log); err != nil {
			stop(err)
		}
	})
	srv := revuemcp.NewServer(advisedPlane{c.Plane(), c}, &revuemcp.Options{Profile: profile, Version: version(), Log: log})
	err = srv.Serve(serveCtx, agent, m.stdin, m.stdout)
	if cause := context.Cause(serveCtx); err != nil && cause != nil {
		err = cause
	}
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// errStopped ends a session because of a signal, as asked.
var errStopped = errors.New("stopped by a signal")

// agentToken returns the token of the agent, and whether its login allowed it to travel readable.
func (m *stdioServer) agentToken(ctx context.Context, address string) (token string, insecure bool, err error) {
	key := m.apiKey()
	switch credentials.KindOf(key) {
	case revue.TokenAgent:
		return key, false, nil
	case revue.TokenHuman:
		return "", false, misuse("REVUE_API_KEY is a human token, and with it an agent could answer itself: set it to an agent token, which \"revue token create --kind agent\" makes, or unset it and keep one with \"revue login\"")
	}
	if key != "" {
		return "", false, misuse("REVUE_API_KEY is no token of revue: an agent's begins with rvu_a_, and \"revue token create --kind agent\" makes one")
	}
	c, err := m.credentials().Load(ctx, address, revue.TokenAgent)
	if errors.Is(err, revue.ErrNotFound) {
		return "", false, misuse(fmt.Sprintf("REVUE_API_KEY is not set: set it to an agent token, or have a human give one to \"revue login %s\", which keeps none for that plane yet", address))
	}
	if want := m.pinned(); err == nil && want != "" && c.Workspace != want {
		err = otherWorkspace(want, c.Workspace)
	}
	return c.Token, c.Insecure, err
}

// checkPlane asks the plane whether it takes the token, and logs what is in the way: an agent shows nobody the errors of
// its calls. A token for another workspace than is wanted ("": any) is an error.
func (m *stdioServer) checkPlane(ctx context.Context, address, token, want string, insecure bool, log *slog.Logger) error {
	c, err := dial(address, token, &revuehttp.ClientOptions{Via: "mcp stdio", Insecure: insecure})
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // nothing is under way
	who, _, err := identify(ctx, c)
	switch {
	case ctx.Err() != nil: // the session is over
	case errors.Is(err, revue.ErrDenied):
		log.WarnContext(ctx, "the plane does not take the token, and calls fail until it does: check REVUE_API_KEY, or \"revue login\" again", "plane", address, "err", err)
	case err != nil:
		log.WarnContext(ctx, "the plane can't be asked, and calls fail until it can: check REVUE_API_URL and that the plane runs", "plane", address, "err", err)
	case want != "" && who.Workspace != want:
		return otherWorkspace(want, who.Workspace)
	}
	return nil
}

func otherWorkspace(want, have string) error {
	return misuse(fmt.Sprintf("REVUE_WORKSPACE_ID or --workspace names the workspace %s, and the token is for %s: use a token for the one that is meant, or name no workspace", want, have))
}

// nothingNamed says what is missing.
func (m *stdioServer) nothingNamed() error {
	var missing []string
	for _, key := range []string{"REVUE_API_URL", "REVUE_API_KEY"} {
		if m.env(key) == "" {
			missing = append(missing, key)
		}
	}
	verb := " is"
	if len(missing) > 1 {
		verb = " are"
	}
	return misuse(strings.Join(missing, " and ") + verb + " not set: set REVUE_API_URL to the plane and REVUE_API_KEY to an agent token, which \"revue login URL\" can keep instead; or run a plane here with --db PATH or REVUE_DB")
}
