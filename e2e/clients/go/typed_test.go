package clients

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/retry"
)

// Every verb of a typed client, its bodies and answers in protobuf.
func TestTypedClientsSpeakProtobuf(t *testing.T) {
	client, wire := typed(t, protobuf)
	ctx := background(t)
	ns := namespace(t, client)
	maps_ := client.CoreV1().ConfigMaps(ns)

	made, err := maps_.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "x"}},
		Data:       map[string]string{"k": "v"},
		BinaryData: map[string][]byte{"b": {0, 1, 255}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := maps_.Get(ctx, "a", metav1.GetOptions{})
	if err != nil || !maps.Equal(got.Data, made.Data) || !slices.Equal(got.BinaryData["b"], []byte{0, 1, 255}) {
		t.Fatalf("read back %v, %v", got, err)
	}
	got.Data["k"] = "w"
	updated, err := maps_.Update(ctx, got, metav1.UpdateOptions{})
	if err != nil || updated.Data["k"] != "w" || updated.ResourceVersion == made.ResourceVersion {
		t.Fatalf("updated %v, %v", updated, err)
	}
	made.Data["k"] = "lost"
	if _, err := maps_.Update(ctx, made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Fatalf("a stale update must be a conflict: %v", err)
	}
	if _, err := maps_.Get(ctx, "missing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("not found: %v", err)
	}
	_, err = maps_.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "Bad_Name"}}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.name") {
		t.Fatalf("invalid: %v", err)
	}

	for _, body := range [][2]string{
		{string(types.JSONPatchType), `[{"op":"add","path":"/data/j","value":"1"}]`},
		{string(types.MergePatchType), `{"data":{"m":"1"}}`},
		{string(types.StrategicMergePatchType), `{"data":{"s":"1"}}`},
	} {
		if _, err := maps_.Patch(ctx, "a", types.PatchType(body[0]), []byte(body[1]), metav1.PatchOptions{}); err != nil {
			t.Fatalf("%s: %v", body[0], err)
		}
	}
	patched, err := maps_.Get(ctx, "a", metav1.GetOptions{})
	if err != nil || patched.Data["j"]+patched.Data["m"]+patched.Data["s"] != "111" {
		t.Fatalf("patched %v, %v", patched, err)
	}

	secret, err := client.CoreV1().Secrets(ns).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}, StringData: map[string]string{"p": "q"},
	}, metav1.CreateOptions{})
	if err != nil || string(secret.Data["p"]) != "q" || !strings.HasPrefix(secret.Name, "s-") {
		t.Fatalf("secret %v, %v", secret, err)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	}}
	if _, err := client.RbacV1().Roles(ns).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	holder := "me"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: metav1.Now().Time},
	}}
	if _, err := client.CoordinationV1().Leases(ns).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	if err := maps_.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")}); !apierrors.IsConflict(err) {
		t.Fatalf("precondition: %v", err)
	}
	if err := maps_.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=x"}); err != nil {
		t.Fatal(err)
	}
	sent := wire.matching(func(e exchange) bool { return e.method == "POST" && e.contentType != protobuf })
	if len(sent) > 0 {
		t.Fatalf("bodies that were not protobuf: %v", sent)
	}
	for _, e := range wire.matching(func(e exchange) bool { return e.status == 0 || e.status >= 500 }) {
		t.Errorf("failed: %v", e)
	}
}

// Clients that take nothing but protobuf get it.
func TestAnswersInProtobufAlone(t *testing.T) {
	c := workspace(t)
	c.ContentType, c.AcceptContentTypes = protobuf, protobuf
	wire := recorded(c)
	client := mustTyped(t, c)
	ctx := background(t)
	ns := namespace(t, client)
	for i := range 3 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i)}, Data: map[string]string{"i": fmt.Sprint(i)}}
		if _, err := client.CoreV1().ConfigMaps(ns).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := client.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{LabelSelector: "!x"})
	if err != nil || list.ResourceVersion == "" {
		t.Fatalf("list: %v, %v", list, err)
	}
	names := []string{}
	for _, item := range list.Items {
		names = append(names, item.Name+item.Data["i"])
	}
	for _, want := range []string{"c00", "c11", "c22"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %v", want, names)
		}
	}
	w, err := client.CoreV1().ConfigMaps(ns).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := client.CoreV1().ConfigMaps(ns).Delete(ctx, "c0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	event := <-w.ResultChan()
	if gone, ok := event.Object.(*corev1.ConfigMap); !ok || event.Type != watch.Deleted || gone.Name != "c0" {
		t.Fatalf("event %v", event)
	}
	for _, e := range wire.matching(func(e exchange) bool { return !strings.HasPrefix(e.answerType, protobuf) }) {
		t.Errorf("not protobuf: %v", e)
	}
}

// A list in pages is the whole list.
func TestPages(t *testing.T) {
	client, _ := typed(t, "")
	ctx := background(t)
	ns := namespace(t, client)
	for i := range 7 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Labels: map[string]string{"p": ""}}}
		if _, err := client.CoreV1().ConfigMaps(ns).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	options := metav1.ListOptions{Limit: 3, LabelSelector: "p"}
	for {
		page, err := client.CoreV1().ConfigMaps(ns).List(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
		if options.Continue = page.Continue; page.Continue == "" {
			break
		}
	}
	if !slices.Equal(names, []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6"}) {
		t.Fatalf("pages: %v", names)
	}
}

// Typed server-side apply: ownership, a conflict, taking over.
func TestApply(t *testing.T) {
	client, _ := typed(t, "")
	ctx := background(t)
	ns := namespace(t, client)
	apply := func(manager, value string, force bool) error {
		configuration := applycore.ConfigMap("a", ns).WithData(map[string]string{"k": value})
		_, err := client.CoreV1().ConfigMaps(ns).Apply(ctx, configuration, metav1.ApplyOptions{FieldManager: manager, Force: force})
		return err
	}
	if err := apply("one", "1", false); err != nil {
		t.Fatal(err)
	}
	if err := apply("two", "2", false); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "one"`) {
		t.Fatalf("conflict: %v", err)
	}
	if err := apply("two", "2", true); err != nil {
		t.Fatal(err)
	}
	live, err := client.CoreV1().ConfigMaps(ns).Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	extracted, err := applycore.ExtractConfigMap(live, "two")
	if err != nil || extracted.Data["k"] != "2" {
		t.Fatalf("extracted %v, %v", extracted, err)
	}
}

// Many writers of one object, each of which tries again on a conflict: nothing is lost.
func TestRetriesOnConflict(t *testing.T) {
	client, _ := typed(t, protobuf)
	ctx := background(t)
	ns := namespace(t, client)
	if _, err := client.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	failures := make(chan error, 5)
	for i := range 5 {
		go func() {
			failures <- retry.RetryOnConflict(wait.Backoff{Steps: 30, Duration: 5 * time.Millisecond, Factor: 1.2, Jitter: 0.5}, func() error {
				live, err := client.CoreV1().ConfigMaps(ns).Get(ctx, "n", metav1.GetOptions{})
				if err != nil {
					return err
				}
				if live.Data == nil {
					live.Data = map[string]string{}
				}
				live.Data[fmt.Sprint(i)] = "x"
				_, err = client.CoreV1().ConfigMaps(ns).Update(ctx, live, metav1.UpdateOptions{})
				return err
			})
		}()
	}
	for range 5 {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	live, err := client.CoreV1().ConfigMaps(ns).Get(context.Background(), "n", metav1.GetOptions{})
	if err != nil || len(live.Data) != 5 {
		t.Fatalf("%v, %v", live, err)
	}
}
