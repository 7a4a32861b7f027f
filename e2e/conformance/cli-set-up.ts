const schema = `apiVersion: apis.kcp.io/v1alpha1
kind: APIResourceSchema
metadata: {name: v1.widgets.example.dev}
spec:
  group: example.dev
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`;

const apiExport = `apiVersion: apis.kcp.io/v1alpha2
kind: APIExport
metadata: {name: things}
spec:
  resources: [{group: example.dev, name: widgets, schema: v1.widgets.example.dev}]
  permissionClaims:
  - {resource: configmaps, verbs: ["*"]}
  - {resource: secrets, verbs: [get, list]}`;

/** What stands before the first command of a transcript, where that is more than an empty control plane. */
export const cliSetUps: Readonly<Record<string, string>> = {
  '04-bind-and-claims.txt': `
    kubectl delete workspace w-{{run}} --ignore-not-found
    kubectl create workspace w-{{run}} --enter
    kubectl apply -f - <<EOF
${schema}
---
${apiExport}
EOF
    kubectl wait apiexport things --for=condition=IdentityValid
    kubectl create workspace c --enter --type root:universal`,
};

/** What is left behind by those, deleted. */
export const cliTearDowns: Readonly<Record<string, string>> = {
  '04-bind-and-claims.txt': 'kubectl ws :root && kubectl delete workspace w-{{run}}',
};
