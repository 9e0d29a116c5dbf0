// A cluster's API server, and beside it the controller of DaemonSets: what a rollout is made of,
// without the rest of Kubernetes.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

func control(kubeconfig string) error {
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := daemon.NewDaemonSetsController(ctx, factory.Apps().V1().DaemonSets(),
		factory.Apps().V1().ControllerRevisions(), factory.Core().V1().Pods(),
		factory.Core().V1().Nodes(), client, flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	controller.Run(ctx, 2)
	return nil
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "control" {
		fmt.Fprintln(os.Stderr, control(os.Args[2]))
		os.Exit(1)
	}
	os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
}
