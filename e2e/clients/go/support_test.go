// Package clients uses a workspace as Go programs do: with client-go and controller-runtime, unchanged and at their
// defaults. KUBECONFIG names the workspace.
package clients

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// exchange is one request as it went over the wire.
type exchange struct {
	method, path, query string
	contentType, accept string
	answerType          string
	status              int
}

// recorder keeps what a client sent and got.
type recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen []exchange
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	e := exchange{
		method: request.Method, path: request.URL.Path, query: request.URL.RawQuery,
		contentType: request.Header.Get("Content-Type"), accept: request.Header.Get("Accept"),
	}
	if err == nil {
		e.status, e.answerType = response.StatusCode, response.Header.Get("Content-Type")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, e)
	return response, err
}

func (r *recorder) matching(accept func(exchange) bool) []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []exchange
	for _, e := range r.seen {
		if accept(e) {
			found = append(found, e)
		}
	}
	return found
}

func workspace(t *testing.T) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	c.QPS, c.Burst = 1000, 1000
	return c
}

func recorded(c *rest.Config) *recorder {
	r := &recorder{}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.next = next
		return r
	})
	return r
}

func typed(t *testing.T, contentType string) (*kubernetes.Clientset, *recorder) {
	t.Helper()
	c := workspace(t)
	if contentType != "" {
		c.ContentType = contentType
		c.AcceptContentTypes = strings.Join([]string{contentType, runtime.ContentTypeJSON}, ",")
	}
	r := recorded(c)
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return client, r
}

func background(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// namespace makes a namespace of the test's own.
func namespace(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"}}
	made, err := client.CoreV1().Namespaces().Create(background(t), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	return made.Name
}

func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(background(t), 50*time.Millisecond, 30*time.Second, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// establish makes a definition and waits until it is served.
func establish(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	c := workspace(t)
	c.ContentType = protobuf
	client, err := apiextensions.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := crds.Create(background(t), crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = crds.Delete(context.Background(), crd.Name, metav1.DeleteOptions{}) })
	eventually(t, crd.Name+" is established", func(ctx context.Context) (bool, error) {
		got, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range got.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}
