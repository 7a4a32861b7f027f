package clients

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
)

func mustTyped(t *testing.T, c *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// An informer gets its first state by a watch that begins with it (WatchList, on by default), and goes on from there.
func TestInformersByWatchList(t *testing.T) {
	client, wire := typed(t, protobuf)
	ctx, cancel := context.WithCancel(background(t))
	defer cancel()
	ns := namespace(t, client)
	for i := range 20 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("i%02d", i), Labels: map[string]string{"i": "1"}}}
		if _, err := client.CoreV1().ConfigMaps(ns).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, time.Hour,
		informers.WithNamespace(ns),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "i" }))
	informer := factory.Core().V1().ConfigMaps()
	var added, updated, deleted atomic.Int32
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(any, any) { updated.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	}); err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	if synced := factory.WaitForCacheSync(ctx.Done()); len(synced) != 1 {
		t.Fatal("the informer does not sync")
	}
	listed, err := informer.Lister().ConfigMaps(ns).List(labels.Everything())
	if err != nil || len(listed) != 20 {
		t.Fatalf("listed %d, %v", len(listed), err)
	}
	live := listed[0].DeepCopy()
	live.Data = map[string]string{"x": "y"}
	if _, err := client.CoreV1().ConfigMaps(ns).Update(ctx, live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps(ns).Delete(ctx, listed[1].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the informer hears of changes", func(context.Context) (bool, error) {
		return added.Load() == 20 && updated.Load() >= 1 && deleted.Load() == 1, nil
	})
	streamed := wire.matching(func(e exchange) bool { return strings.Contains(e.query, "sendInitialEvents=true") })
	if len(streamed) == 0 || streamed[0].status != 200 {
		t.Errorf("no watch list: %v", streamed)
	}
	plain := wire.matching(func(e exchange) bool {
		return e.method == "GET" && strings.HasSuffix(e.path, "/configmaps") && !strings.Contains(e.query, "watch=true")
	})
	if len(plain) > 0 {
		t.Errorf("the informer fell back to lists: %v", plain)
	}
}

// Discovery, the mapper that is made of it, and clients without types.
func TestDynamicClients(t *testing.T) {
	c := workspace(t)
	ctx := background(t)
	establish(t, widgetDefinition("dynamic"))
	ns := namespace(t, mustTyped(t, c))
	finder, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	var mapping schema.GroupVersionResource
	eventually(t, "the kind is found", func(context.Context) (bool, error) {
		groups, err := restmapper.GetAPIGroupResources(finder)
		if err != nil {
			return false, err
		}
		found, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(schema.GroupKind{Group: "dynamic.example.com", Kind: "Widget"})
		if err != nil {
			return false, nil
		}
		mapping = found.Resource
		return true, nil
	})
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	widgets := client.Resource(mapping).Namespace(ns)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "dynamic.example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w"},
		"spec":     map[string]any{"size": int64(9007199254740993)},
	}}
	if _, err := widgets.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := widgets.Get(ctx, "w", metav1.GetOptions{})
	if size, _, _ := unstructured.NestedInt64(got.Object, "spec", "size"); err != nil || size != 9007199254740993 {
		t.Fatalf("%v, %v", got, err)
	}
	object.SetName("strict")
	_ = unstructured.SetNestedField(object.Object, "x", "spec", "nobodyKnows")
	if _, err := widgets.Create(ctx, object, metav1.CreateOptions{FieldValidation: "Strict"}); err == nil || !strings.Contains(err.Error(), `unknown field "spec.nobodyKnows"`) {
		t.Errorf("strict: %v", err)
	}
	partial, err := metadata.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	list, err := partial.Resource(mapping).Namespace(ns).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "w" {
		t.Fatalf("metadata: %v, %v", list, err)
	}
	if version, err := finder.ServerVersion(); err != nil || version.Major != "1" {
		t.Fatalf("version %v, %v", version, err)
	}
	if document, err := finder.OpenAPIV3().Paths(); err != nil || document["apis/dynamic.example.com/v1"] == nil {
		t.Fatalf("openapi: %v", err)
	}
}
