// Runs csi-driver-smb's calls as its node server makes them with the change of client/drivers/smb.md: in a HostProcess
// pod, with the library and without a service. The driver's own code is not available as a module.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	storage "github.com/kubernetes-csi/csi-proxy/v2/api/storage/v1alpha1"
	"google.golang.org/protobuf/encoding/protowire"

	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/integration/drivers/clients"
	"csi-proxy.example/integration/drivers/steps"
)

const (
	kubelet  = `C:\var\lib\kubelet`
	server   = "fileserver.example"
	user     = `EXAMPLE\storage`
	password = "correct horse"
)

var ctx = context.Background()

// node makes the calls of a driver of shares by one connection.
type node struct {
	*clients.Clients
	storage storage.StorageClient
}

// stats measures a path through its links. It fails if the share does not answer, as a driver's os.ReadDir does.
func (n *node) stats(path string) error {
	out, err := n.storage.GetPathStats(ctx, &storage.GetPathStatsRequest{Path: path})
	if err == nil && (out.TotalBytes == 0 || !strings.HasPrefix(out.Share, `\\`+server)) {
		err = fmt.Errorf("%s: %v", path, out)
	}
	return err
}

func (n *node) mappings() (int, error) {
	out, err := n.storage.ListSmbMappings(ctx, &storage.ListSmbMappingsRequest{})
	return len(out.GetMappings()), err
}

// readlink treats every error as an absent link, as the driver does.
func readlink(path string) (string, error) {
	to, err := os.Readlink(path)
	if err != nil {
		return "", orders.ErrNotLink
	}
	return strings.TrimSuffix(to, `\`), nil
}

// setReachable cuts the file server off, or connects it, through the admin pipe of the double
// (integration/wine/double/admin_pipe_windows.cc).
func setReachable(reachable bool) error {
	pipe, err := os.OpenFile(`\\.\pipe\csi-proxy-node-double`, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer pipe.Close()
	request := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), server)
	request = protowire.AppendVarint(protowire.AppendTag(request, 2, protowire.VarintType), protowire.EncodeBool(reachable))
	call := binary.LittleEndian.AppendUint32([]byte("SetServerReachable\n"), uint32(len(request)))
	if _, err := pipe.Write(append(call, request...)); err != nil {
		return err
	}
	var code [4]byte
	if _, err = io.ReadFull(pipe, code[:]); err == nil && code != [4]byte{} {
		err = fmt.Errorf("SetServerReachable: code %d", code[0])
	}
	return err
}

// volume is a share, or a directory of one, with the kubelet's paths for it.
type volume struct{ remote, stage, pod, target string }

func newVolume(id, path string) *volume {
	pod := kubelet + `\pods\` + id + `\volumes\kubernetes.io~csi\pvc`
	return &volume{`\\` + server + `\` + path, kubelet + `\plugins\kubernetes.io\csi\smb.csi.k8s.io\` + id + `\globalmount`, pod, pod + `\mount`}
}

// refused returns an error unless err has that text.
func refused(err error, text string) error {
	if err == nil || !strings.Contains(err.Error(), text) {
		return fmt.Errorf("%q does not say %q", fmt.Sprint(err), text)
	}
	return nil
}

func life(run *steps.Run) {
	conn, err := csiproxy.Connect(csiproxy.Embedded)
	if err != nil {
		run.Step("the library", func() error { return err })
		return
	}
	defer conn.Close()
	node := &node{
		&clients.Clients{Files: filesystem.NewFilesystemClient(conn), Shares: smb.NewSmbClient(conn)},
		storage.NewStorageClient(conn),
	}
	driver := &orders.SMB{ShareNode: node, ReadDir: node.stats, MkdirAll: node.Mkdir, Readlink: readlink}
	stage := func(v *volume) error { return driver.Stage(v.remote, v.stage, user, password) }
	publish := func(v *volume) error {
		if err := node.Mkdir(v.pod); err != nil {
			return err
		}
		return driver.Publish(v.stage, v.target)
	}
	stats := func(v *volume) error { return node.stats(v.target) }
	unpublish := func(v *volume) error { return driver.Unpublish(v.target) }
	unstage := func(v *volume) error { return driver.Unstage(v.stage) }
	twice := func(name string, call func(*volume) error, v *volume) {
		run.Step(name, func() error { return call(v) })
		run.Step(name+" again", func() error { return call(v) })
	}
	mapped := func(name string, want int) {
		run.Step(name, func() error {
			got, err := node.mappings()
			return steps.Equal(got, want, err)
		})
	}

	one, directory := newVolume("one", "data"), newVolume("two", `data\reports`)
	for range 2 {
		twice("stage", stage, one)
		mapped("staged: one mapping", 1)
		twice("publish", publish, one)
		run.Step("stats", func() error { return stats(one) })
		twice("unpublish", unpublish, one)
		twice("unstage", unstage, one)
		mapped("unstaged: no mapping", 0)
	}

	run.Step("a wrong password", func() error {
		v := newVolume("wrong", "data")
		return refused(driver.Stage(v.remote, v.stage, user, "wrong"), "password is incorrect (1326)")
	})
	run.Step("an absent share", func() error { return refused(stage(newVolume("absent", "absent")), "cannot be found (67)") })
	mapped("refused: no mapping", 0)

	run.Step("stage a share and a directory of it", func() error { return errors.Join(stage(one), stage(directory)) })
	run.Step("unstage the share", func() error { return unstage(one) })
	run.Step("publish the directory", func() error { return publish(directory) })
	run.Step("the server goes away", func() error { return setReachable(false) })
	run.Step("stage while it is away", func() error { return refused(stage(newVolume("away", "scratch")), "was not found (53)") })
	run.Step("stats while it is away", func() error { return refused(stats(directory), "") })
	run.Step("unpublish while it is away", func() error { return unpublish(directory) })
	run.Step("unstage while it is away", func() error { return unstage(directory) })
	run.Step("the server comes back", func() error { return setReachable(true) })
	mapped("unstaged while it was away: no mapping", 0)

	var many []*volume
	for i := range 20 {
		many = append(many, newVolume(fmt.Sprint("many-", i), []string{"data", "scratch"}[i%2]))
	}
	atOnce := func(name string, call func(*volume) error) {
		run.Step("20 at once: "+name, func() error { return steps.AtOnce(many, call) })
	}
	atOnce("stage", stage)
	mapped("20 at once: two mappings", 2)
	atOnce("publish", publish)
	atOnce("stats", stats)
	atOnce("unpublish", unpublish)
	atOnce("unstage", unstage)
	mapped("20 at once: no mapping", 0)
}

func main() {
	steps.Embedded("smb.csi.k8s.io", "github.com/kubernetes-csi/csi-proxy/v2", life)
}
