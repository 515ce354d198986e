package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	runnelv1 "github.com/runnel-dev/runnel/proto/runnel/v1"
)

// write writes a file and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const header = "apiVersion: runnel.dev/v1alpha1\nkind: ServerConfiguration\n"

func TestCheckTellsAllThatIsWrongAndStartsNothing(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		args       []string
		stdout     string
		stderr     []string // each is in a line of its own; the last tells their number
	}{
		{"right", "insecure: true", nil, "ok\n", nil},
		{"right, without a file", "", []string{"--insecure"}, "ok\n", nil},
		{"file, flags and TLS files",
			"listen: here\ntls: {certFile: no-cert, keyFile: no-key, clientCAFile: no-ca}\nsources: {preload: [{resource: pods, labelSelector: a in b}]}\nlimit: {}",
			[]string{"--limit-names=0", "--kubeconfig=nowhere"}, "", []string{
				`runnel.yaml:3: listen: "here" is no host:port`,
				`runnel.yaml:5: sources.preload[0].labelSelector: unable to parse`,
				"runnel.yaml:6: limit: unknown field; known here",
				"--limit-names: must be more than 0",
				"tls: serving certificate: open no-cert: no such file",
				"tls: client CA: open no-ca: no such file",
				"--kubeconfig: no API server: stat nowhere: no such file",
				"runnel: errors in the configuration: 7",
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"serve", "--check"}, tt.args...)
			if tt.file != "" {
				args = append(args, "--config="+write(t, "runnel.yaml", header+tt.file))
			}
			var stdout, stderr bytes.Buffer
			code := execute(t.Context(), args, &stdout, &stderr)
			if want := min(len(tt.stderr), 1); code != want || stdout.String() != tt.stdout {
				t.Errorf("exit code %d, %q", code, stdout.String())
			}
			lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
			if stderr.Len() == 0 {
				lines = nil
			}
			if len(lines) != len(tt.stderr) {
				t.Fatalf("%d lines, want %d: %s", len(lines), len(tt.stderr), stderr.String())
			}
			for _, want := range tt.stderr {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("no %q in %s", want, stderr.String())
				}
			}
		})
	}
}

func TestConfigurationThatIsWrongIsNotServed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		stderr string
	}{
		{"wrong", []string{"--config=" + write(t, "runnel.yaml", header+"insecure: true\nlisten: :0\nfoo: 1\nbar: 2")}, "\nrunnel: errors in the configuration: 2\n"},
		{"not there", []string{"--config=nowhere.yaml", "--insecure"}, "runnel: configuration: open nowhere.yaml: no such file or directory\n"},
		{"without TLS", []string{"--listen=127.0.0.1:0"}, "tls: TLS needs a certificate and a key; to serve plaintext to anyone, set insecure\nrunnel: errors in the configuration: 1\n"},
	} {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), append([]string{"serve"}, tt.args...), &stdout, &stderr)
		if code != 1 || !strings.HasSuffix(stderr.String(), tt.stderr) || strings.Contains(stderr.String(), `"msg"`) {
			t.Errorf("%s: exit code %d: %s", tt.name, code, stderr.String())
		}
	}
}

// serve runs the command with an API server that only tells its version and which cluster
// it is of, and returns a connection to it.
func serve(t *testing.T, args ...string) *grpc.ClientConn {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.0.0"}`)
		case "/api/v1/namespaces/kube-system":
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":"1"}}`)
		default:
			t.Errorf("the API server is asked for %s", r.URL.Path)
		}
	}))
	t.Cleanup(api.Close)
	kubeconfig := write(t, "kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
		contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}], clusters: [{name: c, cluster: {server: %q}}]}`, api.URL))

	ctx, cancel := context.WithCancel(context.Background())
	logs, stderr := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		args := append([]string{"serve", "--insecure", "--listen=127.0.0.1:0", "--kubeconfig=" + kubeconfig, "--drain=1s"}, args...)
		if code := execute(ctx, args, io.Discard, stderr); code != 0 {
			t.Errorf("exit code %d", code)
		}
		stderr.Close()
	})
	address := make(chan string, 1)
	running.Go(func() {
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			var line struct{ Msg, Address string }
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Errorf("%v: %s", err, lines.Text())
			}
			if line.Msg == "serving" {
				address <- line.Address
			}
		}
		close(address)
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	conn, err := grpc.NewClient("passthrough:"+<-address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Neither what is over a limit nor what is not allowed reaches the API server.
func TestLimitsAndAllowedResourcesReachTheService(t *testing.T) {
	file := "--config=" + write(t, "runnel.yaml", header+"limits: {resources: 3, names: 1}\nallowedResources: [{group: apps, resources: [deployments]}]")
	deployments := &runnelv1.ResourceSubscription{Group: "apps", Resource: "deployments"}
	two := []*runnelv1.ResourceSubscription{deployments, deployments}
	for _, tt := range []struct {
		name      string
		args      []string
		resources []*runnelv1.ResourceSubscription
		code      codes.Code
		text      string
	}{
		{"a flag", []string{"--limit-resources=1"}, two, codes.ResourceExhausted, "2 resources are more than the limit of 1"},
		{"the file", []string{file}, append(two, two...), codes.ResourceExhausted, "4 resources are more than the limit of 3"},
		{"a flag over the file", []string{file, "--limit-resources=1"}, two, codes.ResourceExhausted, "limit of 1"},
		{"the file beside a flag", []string{file, "--limit-resources=1"},
			[]*runnelv1.ResourceSubscription{{Resource: "pods", Names: []string{"a", "b"}}}, codes.ResourceExhausted, "2 names are more than the limit of 1"},
		{"not allowed", []string{file}, []*runnelv1.ResourceSubscription{{Resource: "pods"}}, codes.PermissionDenied,
			`resources[0].resource: "pods" are not allowed here; to allow them, list {group: "", resources: ["pods"]}`},
		{"Secrets", nil, []*runnelv1.ResourceSubscription{{Resource: "secrets"}}, codes.PermissionDenied, `"secrets" are not allowed`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stream, err := runnelv1.NewEventServiceClient(serve(t, tt.args...)).Subscribe(t.Context(), &runnelv1.SubscribeRequest{Resources: tt.resources})
			if err == nil {
				_, err = stream.Recv()
			}
			s := grpcstatus.Convert(err)
			if s.Code() != tt.code || !strings.Contains(s.Message(), tt.text) {
				t.Errorf("%v: %s; want %v with %q", s.Code(), s.Message(), tt.code, tt.text)
			}
			reasons := map[codes.Code]string{codes.ResourceExhausted: "LIMIT_EXCEEDED", codes.PermissionDenied: "RESOURCE_NOT_ALLOWED"}
			if info, _ := s.Details()[0].(*errdetails.ErrorInfo); info.GetReason() != reasons[tt.code] {
				t.Errorf("details are %v", s.Details())
			}
		})
	}
}
