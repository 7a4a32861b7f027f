package clients

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
)

const flavorGroup = "virtual.example.com"

var flavors = schema.GroupVersionResource{Group: flavorGroup, Version: "v1", Resource: "flavors"}

// created writes an object as soon as the server takes it.
func created(t *testing.T, client dynamic.Interface, gvr schema.GroupVersionResource, kind string, name string, content map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: content}
	object.SetAPIVersion(gvr.GroupVersion().String())
	object.SetKind(kind)
	object.SetName(name)
	eventually(t, "creation of "+gvr.Resource+" "+name, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(gvr).Create(ctx, object, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), nil
	})
}

// flavorsOf publishes flavours in a workspace below the one of the tests, and binds them there as a virtual resource.
func flavorsOf(t *testing.T, c *rest.Config, consumer dynamic.Interface) dynamic.Interface {
	t.Helper()
	created(t, consumer, schema.GroupVersionResource{Group: "tenancy.kcp.io", Version: "v1alpha1", Resource: "workspaces"}, "Workspace", "flavor-provider", map[string]any{})
	below := rest.CopyConfig(c)
	below.Host = c.Host + ":flavor-provider"
	provider, err := dynamic.NewForConfig(below)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]any{"plural": "flavors", "singular": "flavor", "kind": "Flavor", "listKind": "FlavorList"}
	openAPI := map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{
		"type": "object", "properties": map[string]any{"cpus": map[string]any{"type": "integer"}},
	}}}
	version := func(schema map[string]any) []any {
		return []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": schema}}
	}
	created(t, provider, schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, "CustomResourceDefinition", "flavors."+flavorGroup,
		map[string]any{"spec": map[string]any{"group": flavorGroup, "scope": "Cluster", "names": names, "versions": version(map[string]any{"openAPIV3Schema": openAPI})}})
	apis := func(version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "apis.kcp.io", Version: version, Resource: resource}
	}
	created(t, provider, apis("v1alpha1", "apiresourceschemas"), "APIResourceSchema", "v1.flavors."+flavorGroup,
		map[string]any{"spec": map[string]any{"group": flavorGroup, "scope": "Cluster", "names": names, "versions": version(openAPI)}})
	for _, name := range []string{"large", "small"} {
		created(t, provider, flavors, "Flavor", name, map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"visibility": "Public"}},
			"spec":     map[string]any{"cpus": int64(1)},
		})
	}
	cached := schema.GroupVersionResource{Group: "cache.kcp.io", Version: "v1alpha1", Resource: "cachedresources"}
	created(t, provider, cached, "CachedResource", "flavors", map[string]any{"spec": map[string]any{
		"group": flavorGroup, "version": "v1", "resource": "flavors",
		"labelSelector": map[string]any{"matchLabels": map[string]any{"visibility": "Public"}},
	}})
	slices := schema.GroupVersionResource{Group: "cache.kcp.io", Version: "v1alpha1", Resource: "cachedresourceendpointslices"}
	created(t, provider, slices, "CachedResourceEndpointSlice", "flavors", map[string]any{"spec": map[string]any{
		"cachedResource": map[string]any{"name": "flavors"}, "export": map[string]any{"name": "flavors"},
	}})
	var identity string
	eventually(t, "the flavours are cached", func(ctx context.Context) (bool, error) {
		object, err := provider.Resource(cached).Get(ctx, "flavors", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		identity, _, _ = unstructured.NestedString(object.Object, "status", "identityHash")
		return phase == "Ready", nil
	})
	created(t, provider, apis("v1alpha2", "apiexports"), "APIExport", "flavors", map[string]any{"spec": map[string]any{"resources": []any{map[string]any{
		"name": "flavors", "group": flavorGroup, "schema": "v1.flavors." + flavorGroup,
		"storage": map[string]any{"virtual": map[string]any{
			"reference":    map[string]any{"apiGroup": "cache.kcp.io", "kind": "CachedResourceEndpointSlice", "name": "flavors"},
			"identityHash": identity,
		}},
	}}}})
	created(t, consumer, apis("v1alpha2", "apibindings"), "APIBinding", "flavors", map[string]any{"spec": map[string]any{
		"reference": map[string]any{"export": map[string]any{"path": "root:e2e:flavor-provider", "name": "flavors"}},
	}})
	eventually(t, "the flavours are served", func(ctx context.Context) (bool, error) {
		list, err := consumer.Resource(flavors).List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 2, nil
	})
	return provider
}

// An informer reads virtual resources as it reads stored ones: a watch that begins with the state, and goes on.
func TestInformersOfVirtualResources(t *testing.T) {
	c := workspace(t)
	wire := recorded(c)
	ctx, cancel := context.WithCancel(background(t))
	defer cancel()
	consumer, err := dynamic.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	provider := flavorsOf(t, c, consumer)
	reads := func(e exchange) bool {
		return e.method == "GET" && strings.HasSuffix(e.path, "/"+flavorGroup+"/v1/flavors")
	}
	before := len(wire.matching(reads))
	factory := dynamicinformer.NewDynamicSharedInformerFactory(consumer, time.Hour)
	informer := factory.ForResource(flavors)
	lister := informer.Lister()
	_ = informer.Informer()
	factory.Start(ctx.Done())
	if synced := factory.WaitForCacheSync(ctx.Done()); !synced[flavors] {
		t.Fatal("the informer does not sync")
	}
	patch := func(name, body string) {
		t.Helper()
		if _, err := provider.Resource(flavors).Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch("small", `{"spec":{"cpus":2}}`)
	eventually(t, "the informer hears of a change", func(context.Context) (bool, error) {
		object, err := lister.Get("small")
		if err != nil {
			return false, err
		}
		cpus, _, err := unstructured.NestedInt64(object.(*unstructured.Unstructured).Object, "spec", "cpus")
		return cpus == 2, err
	})
	patch("large", `{"metadata":{"labels":{"visibility":null}}}`)
	eventually(t, "the informer hears of an object that is no longer shared", func(context.Context) (bool, error) {
		_, err := lister.Get("large")
		return apierrors.IsNotFound(err), nil
	})
	requests := wire.matching(reads)[before:]
	var streamed bool
	for _, e := range requests {
		streamed = streamed || strings.Contains(e.query, "sendInitialEvents=true") && e.status == 200
		if !strings.Contains(e.query, "watch=true") {
			t.Errorf("the informer fell back to a list: %v", e)
		}
	}
	if !streamed {
		t.Errorf("no watch list: %v", requests)
	}
}
