// Command go is the controller of a provider of clusters.marketplace.example. It serves all consumers on one shard, through
// the wildcard of an endpoint:
//
//	go run . <kubeconfig> <context> <finalizer>
//
// The server of the context is `<endpoint>/clusters/*`. The endpoint may be the one of an APIExport or of an
// APIExportScope: the program is the same.
//
//   - A cluster gets the finalizer, and then the phase Running.
//   - The finalizer is removed when the cluster is being deleted, or waits for its transfer to another provider.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const (
	clusterAnnotation  = "kcp.io/cluster"
	transferAnnotation = "scopes.multiplane.dev/transfer"
)

var clusters = schema.GroupVersionResource{Group: "marketplace.example", Version: "v1", Resource: "clusters"}

// controller has an informer over the objects of all consumers, and a client for each of them.
type controller struct {
	config    *rest.Config
	finalizer string
	store     cache.Store
	queue     workqueue.TypedRateLimitingInterface[string]
}

// keyOf identifies an object among those of all consumers: namespace and name alone are the same for many of them.
func keyOf(object any) (string, error) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Key, nil
	}
	found, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{found.GetAnnotations()[clusterAnnotation], found.GetNamespace(), found.GetName()}, "|"), nil
}

// listed begins with a list. A reflector that begins with a watch collects the initial events by namespace and name.
type listed struct{ *cache.ListWatch }

func (listed) IsWatchListSemanticsUnSupported() bool { return true }

// informer keeps the store up to date and queues what changes.
func (c *controller) informer() (cache.Controller, error) {
	all, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	lists := listed{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return all.Resource(clusters).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return all.Resource(clusters).Watch(ctx, options)
		},
	}}
	fifo := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
		KeyFunction: keyOf, KnownObjects: c.store, EmitDeltaTypeReplaced: true,
	})
	process := func(deltas any, _ bool) error {
		for _, delta := range deltas.(cache.Deltas) {
			key, err := keyOf(delta.Object)
			if err != nil {
				return err
			}
			if delta.Type == cache.Deleted {
				log.Printf("%s is gone", key)
				err = c.store.Delete(delta.Object)
			} else {
				err = c.store.Update(delta.Object)
			}
			if err != nil {
				return err
			}
			c.queue.Add(key)
		}
		return nil
	}
	return cache.New(&cache.Config{
		Queue: fifo, ListerWatcher: lists, ObjectType: &unstructured.Unstructured{}, Process: process,
	}), nil
}

// reconcile brings one cluster to its state.
func (c *controller) reconcile(ctx context.Context, key string) error {
	item, exists, err := c.store.GetByKey(key)
	if err != nil || !exists {
		return err
	}
	object := item.(*unstructured.Unstructured).DeepCopy()
	// The same endpoint, for the consumer of the object alone.
	config := rest.CopyConfig(c.config)
	config.Host = strings.TrimSuffix(config.Host, "*") + object.GetAnnotations()[clusterAnnotation]
	consumer, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	client := consumer.Resource(clusters).Namespace(object.GetNamespace())

	_, isLeaving := object.GetAnnotations()[transferAnnotation]
	isLeaving = isLeaving || object.GetDeletionTimestamp() != nil
	held := slices.Contains(object.GetFinalizers(), c.finalizer)
	if isLeaving {
		if !held {
			return nil
		}
		log.Printf("%s is released", key)
		object.SetFinalizers(slices.DeleteFunc(object.GetFinalizers(), func(name string) bool { return name == c.finalizer }))
		_, err := client.Update(ctx, object, metav1.UpdateOptions{})
		return ignoreMoved(err)
	}
	if !held {
		object.SetFinalizers(append(object.GetFinalizers(), c.finalizer))
		if object, err = client.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return ignoreMoved(err)
		}
	}
	if phase, _, _ := unstructured.NestedString(object.Object, "status", "phase"); phase == "Running" {
		return nil
	}
	if err := unstructured.SetNestedField(object.Object, "Running", "status", "phase"); err != nil {
		return err
	}
	log.Printf("%s is running", key)
	_, err = client.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return ignoreMoved(err)
}

// ignoreMoved: an object that was deleted, or moved to another provider, does not exist for this one any more; the informer
// tells so. After a conflict it has the newer object.
func ignoreMoved(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (c *controller) work(ctx context.Context) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.reconcile(ctx, key); err != nil {
			log.Printf("%s: %v", key, err)
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: go run . <kubeconfig> <context> <finalizer>")
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: os.Args[1]},
		&clientcmd.ConfigOverrides{CurrentContext: os.Args[2]},
	).ClientConfig()
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := &controller{
		config:    config,
		finalizer: os.Args[3],
		store:     cache.NewStore(keyOf),
		queue:     workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	informer, err := c.informer()
	if err != nil {
		log.Fatal(err)
	}
	go c.work(ctx)
	informer.RunWithContext(ctx)
	c.queue.ShutDown()
}
