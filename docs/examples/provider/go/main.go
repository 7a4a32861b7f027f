// The provider of docs/write-a-provider.md in Go, on multicluster-provider.
package main

import (
	"context"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"

	"github.com/kcp-dev/multicluster-provider/apiexport"
	"k8s.io/client-go/kubernetes/scheme"
)

var cowboys = schema.GroupVersionKind{Group: "wildwest.dev", Version: "v1alpha1", Kind: "Cowboy"}

func main() {
	ctrl.SetLogger(zap.New())
	must(apisv1alpha1.AddToScheme(scheme.Scheme))
	// The current context is the workspace of the provider; the slice has the name of the export.
	config := ctrl.GetConfigOrDie()
	provider, err := apiexport.New(config, "cowboys", apiexport.Options{})
	must(err)
	mgr, err := mcmanager.New(config, provider, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	must(err)
	cowboy := &unstructured.Unstructured{}
	cowboy.SetGroupVersionKind(cowboys)
	must(mcbuilder.ControllerManagedBy(mgr).Named("cowboys").For(cowboy).Complete(mcreconcile.Func(
		func(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
			cluster, err := mgr.GetCluster(ctx, request.ClusterName)
			if err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{}, reconcile(ctx, cluster.GetClient(), request)
		},
	)))
	must(mgr.Start(ctrl.SetupSignalHandler()))
}

// reconcile writes the text of a cowboy into a config map beside it.
func reconcile(ctx context.Context, c client.Client, request mcreconcile.Request) error {
	cowboy := &unstructured.Unstructured{}
	cowboy.SetGroupVersionKind(cowboys)
	if err := c.Get(ctx, request.NamespacedName, cowboy); err != nil {
		return client.IgnoreNotFound(err)
	}
	text, _, _ := unstructured.NestedString(cowboy.Object, "spec", "text")
	name := "cowboy-" + cowboy.GetName()
	note := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name, "namespace": cowboy.GetNamespace()},
		"data":       map[string]any{"text": text},
	}}
	status := map[string]any{"configMap": name}
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(note), client.FieldOwner("cowboys"), client.ForceOwnership)
	if apierrors.IsForbidden(err) {
		status = map[string]any{"message": "accept the claim on configmaps"}
	} else if err != nil {
		return err
	}
	before := cowboy.DeepCopy()
	if err := unstructured.SetNestedMap(cowboy.Object, status, "status"); err != nil {
		return err
	}
	return c.Status().Patch(ctx, cowboy, client.MergeFrom(before))
}

func must(err error) {
	if err != nil {
		ctrl.Log.Error(err, "failed to start")
		os.Exit(1)
	}
}
