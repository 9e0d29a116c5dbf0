// Runs an API server of Kubernetes and its etcd in one process, to test manifests and admission:
//
//	apiserver DIRECTORY [FLAG OF kube-apiserver ...]
//
// When ready it prints one line of JSON: the address, the file of the server's certificate, and an
// administrator's token. It ends at the end of its standard input. No pods run.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// A cold start takes several seconds, more on a busy machine.
const patience = 2 * time.Minute

// freeAddress returns an address that is free now. The servers accept only an address, not a listener.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

func startEtcd(directory string) (*embed.Etcd, string, error) {
	config := embed.NewConfig()
	config.Dir = directory
	config.LogLevel = "error"
	// No data is needed after the run.
	config.UnsafeNoFsync = true
	var addresses [2]url.URL
	for i := range addresses {
		address, err := freeAddress()
		if err != nil {
			return nil, "", err
		}
		addresses[i] = url.URL{Scheme: "http", Host: address}
	}
	clients, peers := []url.URL{addresses[0]}, []url.URL{addresses[1]}
	config.ListenClientUrls, config.AdvertiseClientUrls = clients, clients
	config.ListenPeerUrls, config.AdvertisePeerUrls = peers, peers
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, "", err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, addresses[0].String(), nil
	case <-time.After(patience):
		etcd.Close()
		return nil, "", fmt.Errorf("etcd was not ready within %v", patience)
	}
}

func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	content, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: content}), 0o600)
}

// awaitReady waits for /readyz of the server, whose self-signed certificate is in the file.
func awaitReady(address, certificate string, ended <-chan error) error {
	for begun := time.Now(); ; {
		select {
		case err := <-ended:
			return fmt.Errorf("the API server has ended: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("the API server was not ready within %v", patience)
		}
		content, err := os.ReadFile(certificate)
		if err != nil {
			continue
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(content)
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
		if answer, err := client.Get(address + "/readyz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
}

func run(directory string, flags []string) error {
	etcd, stored, err := startEtcd(filepath.Join(directory, "etcd"))
	if err != nil {
		return err
	}
	defer etcd.Close()
	address, err := freeAddress()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	key := filepath.Join(directory, "accounts.key")
	if err := writeKey(key); err != nil {
		return err
	}
	token := rand.Text()
	tokens := filepath.Join(directory, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token+",administrator,1,system:masters\n"), 0o600); err != nil {
		return err
	}
	command := app.NewAPIServerCommand()
	command.SetArgs(append([]string{
		"--etcd-servers=" + stored,
		"--bind-address=" + host,
		"--secure-port=" + port,
		"--cert-dir=" + directory,
		"--token-auth-file=" + tokens,
		"--authorization-mode=RBAC",
		"--allow-privileged",
		"--service-account-issuer=https://accounts.example",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.0.0.0/24",
	}, flags...))
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(context.Background()) }()
	certificate := filepath.Join(directory, "apiserver.crt")
	if err := awaitReady("https://"+address, certificate, ended); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{
		"address": "https://" + address, "certificate": certificate, "token": token,
	}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: apiserver DIRECTORY [FLAG OF kube-apiserver ...]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
