// Runs the parts of the kubelet that a registrar meets: the plugin manager over a directory, and the handler
// for CSI drivers, which calls the driver's NodeGetInfo and writes Node and CSINode. The API server is
// client-go's fake in this process.
//
// Prints a line for each call of the handler: the method, its arguments and its answer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/record"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csi"
)

const nodeName = "node-1"

// host implements the methods that the CSI handler calls; the handler calls no others.
type host struct {
	volume.VolumeHost
	volume.KubeletVolumeHost
	client  clientset.Interface
	factory informers.SharedInformerFactory

	lock  sync.Mutex
	error error
}

func (h *host) GetNodeName() types.NodeName                         { return nodeName }
func (h *host) GetKubeClient() clientset.Interface                  { return h.client }
func (h *host) GetInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *host) CSIDriverLister() storagelisters.CSIDriverLister {
	return h.factory.Storage().V1().CSIDrivers().Lister()
}
func (h *host) SetKubeletError(err error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.error = err
}
func (h *host) kubeletError() error {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.error
}
func (h *host) GetServiceAccountTokenFunc() func(namespace, name string, request *authv1.TokenRequest) (*authv1.TokenRequest, error) {
	return func(string, string, *authv1.TokenRequest) (*authv1.TokenRequest, error) {
		return nil, errors.New("there are no service accounts")
	}
}

// recorder is the kubelet's own handler, and prints its calls.
type recorder struct {
	cache.PluginHandler
	client   clientset.Interface
	versions []string
}

func answer(err error) string {
	if err != nil {
		return "refused: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return "ok"
}

func (r *recorder) ValidatePlugin(ctx context.Context, name, endpoint string, versions []string) error {
	asked := versions
	if r.versions != nil {
		asked = r.versions
	}
	err := r.PluginHandler.ValidatePlugin(ctx, name, endpoint, asked)
	fmt.Printf("validate %s %s %s: %s\n", name, endpoint, strings.Join(versions, ","), answer(err))
	return err
}

func (r *recorder) RegisterPlugin(ctx context.Context, name, endpoint string, versions []string, timeout *time.Duration) error {
	err := r.PluginHandler.RegisterPlugin(ctx, name, endpoint, versions, timeout)
	fmt.Printf("register %s %s %s: %s\n", name, endpoint, strings.Join(versions, ","), answer(err))
	if err == nil {
		r.printNode(ctx)
	}
	return err
}

func (r *recorder) DeRegisterPlugin(ctx context.Context, name, endpoint string) {
	r.PluginHandler.DeRegisterPlugin(ctx, name, endpoint)
	fmt.Printf("deregister %s %s\n", name, endpoint)
}

// printNode prints what the API server has about the node's drivers.
func (r *recorder) printNode(ctx context.Context) {
	node, err := r.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		fmt.Println("node:", err)
		return
	}
	csiNode, err := r.client.StorageV1().CSINodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		fmt.Println("node:", err)
		return
	}
	labels := []string{}
	for key, value := range node.Labels {
		labels = append(labels, key+"="+value)
	}
	sort.Strings(labels)
	for _, driver := range csiNode.Spec.Drivers {
		fmt.Printf("node: driver %s id %s topology %s labels %s\n", driver.Name, driver.NodeID,
			strings.Join(driver.TopologyKeys, ","), strings.Join(labels, ","))
	}
}

func run() error {
	plugins := flag.String("plugins", "", "the directory of sockets of plugins")
	versions := flag.String("versions", "", "what ValidatePlugin is asked instead of the plugin's versions")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client := fake.NewSimpleClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, UID: "1"}})
	h := &host{client: client, factory: informers.NewSharedInformerFactory(client, time.Minute)}
	volumePlugins := csi.ProbeVolumePlugins()
	if err := volumePlugins[0].Init(h); err != nil {
		return err
	}
	h.factory.Start(ctx.Done())
	// Waits until the kubelet reports itself ready.
	for deadline := time.Now().Add(10 * time.Second); h.kubeletError() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return h.kubeletError()
		}
	}
	handler := &recorder{PluginHandler: csi.PluginHandler, client: client}
	if *versions != "" {
		handler.versions = strings.Split(*versions, ",")
	}
	manager := pluginmanager.NewPluginManager(*plugins, record.NewFakeRecorder(1000))
	manager.AddHandler(registerapi.CSIPlugin, handler)
	fmt.Println("started")
	manager.Run(ctx, nil, ctx.Done())
	if ctx.Err() == nil {
		return errors.New("the plugin manager has ended")
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
