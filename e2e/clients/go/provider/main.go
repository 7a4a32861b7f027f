// Command provider is the provider of Cowboys on controller-runtime: it tells each cowboy of every consumer what comes of
// it. One process serves all consumers on all shards, through the endpoints of the APIExportEndpointSlice.
//
// Usage: provider <context of the provider's workspace> <name of the APIExport>
package main

import (
	"context"
	"log"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var (
	cowboys = schema.GroupVersionResource{Group: "wildwest.dev", Version: "v1alpha1", Resource: "cowboys"}
	kind    = schema.GroupVersionKind{Group: "wildwest.dev", Version: "v1alpha1", Kind: "Cowboy"}
)

// consumers reconciles the cowboys behind one endpoint.
type consumers struct{ endpoint *rest.Config }

func (c *consumers) Reconcile(ctx context.Context, request Request) (ctrl.Result, error) {
	at := rest.CopyConfig(c.endpoint)
	at.Host += "/clusters/" + request.Cluster
	// The kinds are known: no discovery, no mapper, for any of a thousand consumers.
	consumer, err := client.New(at, client.Options{Mapper: mapperOf(kind, cowboys)})
	if err != nil {
		return ctrl.Result{}, err
	}
	cowboy := &unstructured.Unstructured{}
	cowboy.SetGroupVersionKind(kind)
	if err := consumer.Get(ctx, request.NamespacedName, cowboy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	result := "is locked up"
	if intent, _, _ := unstructured.NestedString(cowboy.Object, "spec", "intent"); intent == "good" {
		result = "rides into the sunset"
	}
	if now, _, _ := unstructured.NestedString(cowboy.Object, "status", "result"); now == result {
		return ctrl.Result{}, nil
	}
	before := client.MergeFrom(cowboy.DeepCopy())
	if err := unstructured.SetNestedField(cowboy.Object, result, "status", "result"); err != nil {
		return ctrl.Result{}, err
	}
	log.Printf("%s in %s %s", request.Name, request.Cluster, result)
	return ctrl.Result{}, consumer.Status().Patch(ctx, cowboy, before)
}

// follow starts a controller for each endpoint that the slice of an export names; a shard has one from its first consumer
// on.
func follow(ctx context.Context, mgr manager.Manager, export string) error {
	followed := map[string]bool{}
	for ; ctx.Err() == nil; time.Sleep(time.Second) {
		slice := &unstructured.Unstructured{}
		slice.SetGroupVersionKind(schema.GroupVersionKind{Group: "apis.kcp.io", Version: "v1alpha1", Kind: "APIExportEndpointSlice"})
		if err := mgr.GetAPIReader().Get(ctx, client.ObjectKey{Name: export}, slice); err != nil {
			log.Printf("the endpoints of %s: %v", export, err)
			continue
		}
		found, _, _ := unstructured.NestedSlice(slice.Object, "status", "endpoints")
		for _, one := range found {
			url, _, _ := unstructured.NestedString(one.(map[string]any), "url")
			if followed[url] {
				continue
			}
			followed[url] = true
			endpoint := rest.CopyConfig(mgr.GetConfig())
			endpoint.Host = strings.TrimSuffix(url, "/")
			here, err := controller.NewTyped(url, mgr, controller.TypedOptions[Request]{Reconciler: &consumers{endpoint}})
			if err != nil {
				return err
			}
			if err := here.Watch(everyConsumer(endpoint, cowboys)); err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	crlog.SetLogger(zap.New())
	provider, err := config.GetConfigWithContext(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	mgr, err := ctrl.NewManager(provider, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		log.Fatal(err)
	}
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return follow(ctx, mgr, os.Args[2]) }))
	if err != nil {
		log.Fatal(err)
	}
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
