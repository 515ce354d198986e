package controlplane

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// The files that kube-apiserver reads its credentials from.
const (
	servingCertFile = "serving.crt"
	servingKeyFile  = "serving.key"
	accountKeyFile  = "service-account.key"
	tokenFile       = "tokens.csv"
)

// writeCredentials makes the keys and tokens of this control plane, and the files
// that hold them.
func (cp *ControlPlane) writeCredentials(users map[string][]string) error {
	authority, err := newAuthority()
	if err != nil {
		return err
	}
	servingCert, servingKey, err := authority.issue()
	if err != nil {
		return err
	}
	signer, err := newKey()
	if err != nil {
		return err
	}
	accountKey, err := encodeKey(signer)
	if err != nil {
		return err
	}
	cp.ca = authority.pem

	groups := maps.Clone(users)
	if groups == nil {
		groups = map[string][]string{}
	}
	groups[Admin] = []string{"system:masters"}
	tokens, err := cp.issueTokens(groups)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		servingCertFile: servingCert,
		servingKeyFile:  servingKey,
		accountKeyFile:  accountKey,
		tokenFile:       tokens,
	} {
		if err := os.WriteFile(cp.file(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// issueTokens gives every user a token and returns kube-apiserver's token file,
// whose lines are: token, user, uid, groups.
func (cp *ControlPlane) issueTokens(groups map[string][]string) ([]byte, error) {
	cp.tokens = make(map[string]string, len(groups))
	var file bytes.Buffer
	lines := csv.NewWriter(&file)
	for _, user := range slices.Sorted(maps.Keys(groups)) {
		cp.tokens[user] = rand.Text()
		line := []string{cp.tokens[user], user, user, strings.Join(groups[user], ",")}
		if err := lines.Write(line); err != nil {
			return nil, err
		}
	}
	lines.Flush()
	return file.Bytes(), lines.Error()
}

// Users returns the names of the users, sorted, Admin among them.
func (cp *ControlPlane) Users() []string { return slices.Sorted(maps.Keys(cp.tokens)) }

// URL is the address of kube-apiserver.
func (cp *ControlPlane) URL() string { return "https://" + cp.apiPort.address() }

// RESTConfig returns a new configuration for clients that act as the user. It
// stays valid across restarts of the servers. It panics if the user is neither
// Admin nor in Config.Users.
func (cp *ControlPlane) RESTConfig(user string) *rest.Config {
	return &rest.Config{
		Host:            cp.URL(),
		BearerToken:     cp.token(user),
		TLSClientConfig: rest.TLSClientConfig{CAData: cp.ca},
		// No limit: a test or benchmark sets its own pace, and client-go's default
		// of five requests a second would be taken for ours.
		QPS: -1,
	}
}

// Kubeconfig returns the same as RESTConfig in the form that kubectl reads.
func (cp *ControlPlane) Kubeconfig(user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: runnel-local
contexts:
- name: runnel-local
  context: {cluster: runnel-local, user: %[1]q}
clusters:
- name: runnel-local
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[1]q
  user: {token: %[4]s}
`, user, cp.URL(), base64.StdEncoding.EncodeToString(cp.ca), cp.token(user))
}

// WriteKubeconfig writes Kubeconfig to a file that only its owner may read.
func (cp *ControlPlane) WriteKubeconfig(path, user string) error {
	return os.WriteFile(path, cp.Kubeconfig(user), 0o600)
}

func (cp *ControlPlane) token(user string) string {
	token, ok := cp.tokens[user]
	if !ok {
		panic(fmt.Sprintf("controlplane: no user %q: Config.Users must name it", user))
	}
	return token
}
