package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Request names an object of one consumer: namespace and name alone would be the same for many of them.
type Request struct {
	Cluster string
	types.NamespacedName
}

// everyConsumer watches one resource of all consumers behind an endpoint, by its wildcard.
func everyConsumer(endpoint *rest.Config, resource schema.GroupVersionResource) source.TypedSource[Request] {
	config := rest.CopyConfig(endpoint)
	config.Host += "/clusters/*"
	return source.TypedFunc[Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Request]) error {
		all, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		lists := listed{&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return all.Resource(resource).List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return all.Resource(resource).Watch(ctx, options)
			},
		}}
		reflector := cache.NewReflectorWithOptions(lists, &unstructured.Unstructured{}, requests{queue},
			cache.ReflectorOptions{Name: endpoint.Host})
		go reflector.RunWithContext(ctx)
		return nil
	})
}

// listed begins with a list. A reflector that begins with a watch (WatchList) collects events by namespace and
// name, and loses all but one of the objects that have both in common.
type listed struct{ *cache.ListWatch }

func (listed) IsWatchListSemanticsUnSupported() bool { return true }

// requests is what a reflector stores into: nothing is kept but what to look at.
type requests struct {
	queue workqueue.TypedRateLimitingInterface[Request]
}

func (r requests) Add(object any) error {
	found, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	cluster := found.GetAnnotations()["kcp.io/cluster"]
	if cluster == "" {
		return fmt.Errorf("%s/%s is in no workspace", found.GetNamespace(), found.GetName())
	}
	name := types.NamespacedName{Namespace: found.GetNamespace(), Name: found.GetName()}
	r.queue.Add(Request{Cluster: cluster, NamespacedName: name})
	return nil
}

func (r requests) Update(object any) error { return r.Add(object) }
func (r requests) Delete(object any) error { return r.Add(object) }
func (r requests) Resync() error           { return nil }

func (r requests) Replace(objects []any, _ string) error {
	for _, object := range objects {
		if err := r.Add(object); err != nil {
			return err
		}
	}
	return nil
}

// mapperOf knows one kind and its resource, without asking the server.
func mapperOf(kind schema.GroupVersionKind, resource schema.GroupVersionResource) meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
	singular := resource.GroupVersion().WithResource(strings.ToLower(kind.Kind))
	mapper.AddSpecific(kind, resource, singular, meta.RESTScopeNamespace)
	return mapper
}
