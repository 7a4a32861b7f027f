package clients

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "operator.example.com/built"

// builder makes a ConfigMap for each Widget, reports in its status, and cleans up behind a finalizer.
type builder struct {
	client.Client
	name    string
	cleaned chan<- string
}

func (b *builder) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := b.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !widget.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&widget, finalizer) {
			b.cleaned <- widget.Name
			return ctrl.Result{}, b.Update(ctx, &widget)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&widget, finalizer) {
		if err := b.Update(ctx, &widget); err != nil {
			return ctrl.Result{}, err
		}
	}
	built := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: widget.Name, Namespace: widget.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, b.Client, built, func() error {
		built.Data = map[string]string{"size": strconv.FormatInt(widget.Spec.Size, 10), "by": b.name}
		return controllerutil.SetControllerReference(&widget, built, b.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	before := client.MergeFrom(widget.DeepCopyObject().(client.Object))
	widget.Status.Built = widget.Spec.Size
	widget.Status.ObservedGeneration = widget.Generation
	meta.SetStatusCondition(&widget.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Built", ObservedGeneration: widget.Generation,
	})
	return ctrl.Result{}, b.Status().Patch(ctx, &widget, before)
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(s)
	widgetScheme(s)
	return s
}

// manage runs an operator under leader election until stop is closed; it reports when it becomes the leader.
func manage(t *testing.T, c *rest.Config, name, ns string, cleaned chan<- string) (lead <-chan struct{}, stop func()) {
	t.Helper()
	unique := true
	renew, retry, leaseTime := 3*time.Second, 500*time.Millisecond, 5*time.Second
	manager, err := ctrl.NewManager(rest.CopyConfig(c), ctrl.Options{
		Scheme:                        scheme(),
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		LeaderElection:                true,
		LeaderElectionID:              "widgets.example.com",
		LeaderElectionNamespace:       ns,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &leaseTime,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
		Controller:                    config.Controller{SkipNameValidation: &unique},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = ctrl.NewControllerManagedBy(manager).For(&Widget{}).Owns(&corev1.ConfigMap{}).
		Complete(&builder{Client: manager.GetClient(), name: name, cleaned: cleaned})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	return manager.Elected(), func() {
		cancel()
		if err := <-ended; err != nil && !strings.Contains(err.Error(), "leader election lost") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two replicas of an operator: one leads and works, the other takes over when it goes.
func TestOperator(t *testing.T) {
	log.SetLogger(zap.New(zap.WriteTo(testWriter{t})))
	establish(t, widgetDefinition("operator"))
	c := workspace(t)
	typedClient := mustTyped(t, c)
	ns := namespace(t, typedClient)
	ctx := background(t)
	direct, err := client.New(c, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	cleaned := make(chan string, 10)
	leads, stopFirst := manage(t, c, "first", ns, cleaned)
	<-leads
	second, stopSecond := manage(t, c, "second", ns, cleaned)
	defer stopSecond()

	widget := &Widget{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: ns}, Spec: WidgetSpec{Size: 3}}
	if err := direct.Create(ctx, widget); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(widget)
	isBuilt := func(size int64, by string) {
		t.Helper()
		eventually(t, "the widget is built by "+by, func(ctx context.Context) (bool, error) {
			var cm corev1.ConfigMap
			if err := direct.Get(ctx, key, widget); err != nil {
				return false, err
			}
			if err := direct.Get(ctx, key, &cm); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			return widget.Status.Built == size && widget.Status.ObservedGeneration == widget.Generation &&
				meta.IsStatusConditionTrue(widget.Status.Conditions, "Ready") &&
				cm.Data["size"] == strconv.FormatInt(size, 10) && cm.Data["by"] == by, nil
		})
	}
	isBuilt(3, "first")
	if !controllerutil.ContainsFinalizer(widget, finalizer) || widget.Generation != 1 {
		t.Fatalf("finalizer or generation: %v", widget.ObjectMeta)
	}
	widget.Spec.Size = 4
	if err := direct.Update(ctx, widget); err != nil {
		t.Fatal(err)
	}
	isBuilt(4, "first")
	// It recreates owned objects that are deleted.
	if err := direct.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: ns}}); err != nil {
		t.Fatal(err)
	}
	isBuilt(4, "first")

	select {
	case <-second:
		t.Fatal("both lead")
	default:
	}
	stopFirst()
	<-second
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":5}}`))
	if err := direct.Patch(ctx, widget, patch); err != nil {
		t.Fatal(err)
	}
	isBuilt(5, "second")

	if err := direct.Delete(ctx, widget); err != nil {
		t.Fatal(err)
	}
	if name := <-cleaned; name != "w" {
		t.Fatalf("cleaned %s", name)
	}
	eventually(t, "the widget goes, and what it owned with it", func(ctx context.Context) (bool, error) {
		var cm corev1.ConfigMap
		return apierrors.IsNotFound(direct.Get(ctx, key, widget)) && apierrors.IsNotFound(direct.Get(ctx, key, &cm)), nil
	})
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(text []byte) (int, error) { return len(text), nil }
