package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// reportEvery keeps a log readable and a person patient.
	reportEvery = 10 * time.Second
	// cancelGrace is what an interrupted go command gets to remove its work.
	cancelGrace = 10 * time.Second
	// complaintLines is how much of a failed build its error quotes: the
	// compiler's first messages fit, a whole log does not.
	complaintLines = 20
)

// build compiles the tools of the nested module into out.
func (t *toolset) build(ctx context.Context, module, out string, progress io.Writer) error {
	path, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("building %s takes Go, see https://go.dev/dl%s: %w", t.programs, t.instead, err)
	}
	r := &reporter{out: progress, tools: t, began: time.Now()}
	defer r.start()()
	tool := goCommand{path: path, dir: module, programs: t.programs, stderr: r}

	flags := "-s -w"
	if t.stamped {
		// Kubernetes' release scripts stamp the version into the binary. The module's
		// version is the same; without it, /version says v0.0.0.
		version, err := tool.run(ctx, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
		if err != nil {
			return err
		}
		flags += " " + stamp(strings.TrimSpace(version))
	}
	packages, err := tool.run(ctx, "list", "-deps", "tool")
	if err != nil {
		return err
	}
	r.expect(strings.Count(packages, "\n"))

	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	_, err = tool.run(ctx, "build", "-v", "-trimpath", "-buildvcs=false",
		"-ldflags", flags, "-o", out, "tool")
	if err != nil || t.finish == nil {
		return err
	}
	return t.finish(ctx, tool, out)
}

// stamp returns the linker's flags for a version such as v1.37.2.
func stamp(version string) string {
	const variable = "-X k8s.io/component-base/version."
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return variable + "gitVersion=" + version + " " + variable + "gitMajor=" + major + " " + variable + "gitMinor=" + minor
}

// goCommand runs the go command in one module.
type goCommand struct {
	path, dir string
	programs  string // what is being built, for errors
	stderr    *reporter
}

// run returns what the command writes to its standard output.
func (g goCommand) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Dir = g.dir
	// No C compiler is asked for, and a workspace around the checkout would
	// choose other versions than the nested module does.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.Stderr = g.stderr
	// An interrupt must reach the compilers too, not the go command alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGINT) }
	cmd.WaitDelay = cancelGrace
	var stdout strings.Builder
	cmd.Stdout = &stdout
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("building %s: %w", g.programs, context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], g.dir, err, g.stderr.complaints())
	}
	return stdout.String(), nil
}

// reporter reads what the go command says on its standard error, counts, and
// prints a line from time to time.
type reporter struct {
	out   io.Writer
	tools *toolset
	began time.Time

	// mu guards what follows: the command writes while the clock reports.
	mu        sync.Mutex
	line      []byte // the start of a line whose end has not come yet
	modules   int
	packages  int
	expected  int // 0 while the modules are being fetched
	complaint []string
}

// start prints a line now and every reportEvery, until the function that it
// returns is called, which waits for the last.
func (r *reporter) start() (stop func()) {
	r.report()
	ticker := time.NewTicker(reportEvery)
	end := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				r.report()
			case <-end:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(end)
		running.Wait()
	}
}

func (r *reporter) report() {
	r.mu.Lock()
	state := fmt.Sprintf("%d modules fetched", r.modules)
	if r.expected > 0 {
		state = fmt.Sprintf("%d/%d packages", r.packages, r.expected)
	}
	r.mu.Unlock()
	fmt.Fprintf(r.out, "building %s (first time only, %s): %s, %s\n",
		r.tools.programs, r.tools.estimate, state, time.Since(r.began).Round(time.Second))
}

// expect sets how many packages there are. Those that the build cache holds are
// never counted, so the count may end below it.
func (r *reporter) expect(packages int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected = packages
}

// complaints returns the first lines that were not about progress.
func (r *reporter) complaints() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.complaint, "\n")
}

// Write implements io.Writer. It never fails.
func (r *reporter) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = append(r.line, p...)
	for {
		line, rest, found := bytes.Cut(r.line, []byte("\n"))
		if !found {
			return len(p), nil
		}
		r.countLocked(string(line))
		r.line = rest
	}
}

func (r *reporter) countLocked(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		r.modules++
	case line != "" && !strings.ContainsAny(line, " :"): // an import path: go build -v
		r.packages++
	case len(r.complaint) < complaintLines:
		r.complaint = append(r.complaint, line)
	}
}
